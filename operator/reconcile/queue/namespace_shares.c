#include "operator/reconcile/queue/namespace_shares.h"

#include "base/core/mem.h"
#include "operator/history/history.h"
#include "operator/pool/claims_plan.h"
#include "operator/reconcile/state/partitions.h"
#include "operator/reconcile/queue/run_times.h"

struct reading {
    const struct reconciler *r;
    struct map places; /* namespace -> its place in the list plus one */
    struct share_list *list;
    int64_t now_s;
};

static struct share *share_of(struct reading *reading, const char *ns)
{
    struct share_list *list = reading->list;
    uintptr_t place = (uintptr_t)map_get(&reading->places, ns);
    const struct namespace_numbers *weights = reading->r->options.share_weights;
    uint32_t weight = weights ? namespace_numbers_get(weights, ns) : 0;

    if (place)
        return &list->items[place - 1];
    list->items = mem_grow(list->items, list->count + 1, sizeof(*list->items));
    list->items[list->count] =
        (struct share){ns, usage_of(&reading->r->history->usage, ns, reading->now_s), weight ? weight : 1};
    list->others_ipu_s -= list->items[list->count].used_ipu_s;
    map_set(&reading->places, ns, (void *)(list->count + 1)); /* a number, not a pointer */
    return &list->items[list->count++];
}

static uint64_t charge_of(const struct reading *reading, const struct record *record)
{
    return claims_plan_charge(
        &(struct forecast_running){.size = record->size,
                                   .start_s = record->created_s,
                                   .end_s = reconciler_end_s(reading->r, record, reading->now_s),
                                   .left = run_times_of_running(reading->r, record)},
        reading->now_s);
}

void namespace_shares_read(const struct reconciler *r, struct share_list *ret)
{
    struct reading reading = {.r = r, .list = ret, .now_s = loop_unix_micros() / 1000000};
    const char *ns;
    void *value;

    *ret = (struct share_list){0};
    if (!r->options.forecast.has_shares)
        return;
    ret->half_life_s = r->options.share_half_life_s;
    ret->others_ipu_s = usage_total(&r->history->usage, reading.now_s);
    for (size_t i = 0; map_next(&r->counters.accounting.accounts, &i, &ns, &value);)
        if (!str_eq(ns, ACCOUNTING_OTHERS))
            (void)share_of(&reading, ns);
    for (size_t i = 0; map_next(&r->queue_totals.namespaces, &i, &ns, &value);)
        (void)share_of(&reading, ns);
    for (const struct store_item *i = store_first(watch_store(r->records)); i; i = store_next(i)) {
        const struct record *record = i->view;

        if (record_holds_ipus(record, false)) /* as the queue charges it: else it counts as usage already */
            share_of(&reading, record->job_ns)->used_ipu_s += charge_of(&reading, record);
    }
    map_release(&reading.places);
    share_list_sort(ret);
}
