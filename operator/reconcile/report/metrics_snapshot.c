#include "operator/reconcile/report/metrics_snapshot.h"

#include <string.h>

#include "base/core/mem.h"
#include "operator/reconcile/queue/namespace_shares.h"
#include "operator/reconcile/state/partitions.h"

static int64_t age_s(int64_t now_s, const struct seconds *since)
{
    int64_t first_s = seconds_first(since);

    return first_s && now_s > first_s ? now_s - first_s : 0;
}

void metrics_snapshot_set_jobs(const struct job_counts *counts, int64_t now_s, struct metrics_snapshot *ret)
{
    memcpy(ret->jobs, counts->states, sizeof(ret->jobs));
    ret->vendors = counts->vendors;
    ret->others = counts->others;
    ret->terminating_s = age_s(now_s, &counts->deletions);
}

static bool is_ours(const struct reconciler *r, const char *controller, const char *id)
{
    const struct record *record = reconciler_record(r, id);

    return record && record_holds_ipus(record, true) && str_eq(record->controller, controller);
}

static uint32_t count_partitions(const struct reconciler *r)
{
    uint32_t count = 0;

    for (const struct store_item *i = store_first(watch_store(r->records)); i; i = store_next(i))
        count += ((const struct record *)i->view)->spent_s == 0;
    return count;
}

static void read_controller(const struct reconciler *r, size_t index, struct metrics_controller *ret)
{
    const struct pool_controller *c = pool_controller(r->pool, index);
    struct vipu_pool_view room = pool_free_capacity(r->pool, index);

    *ret = (struct metrics_controller){
        .name = c->config->name, .is_up = c->is_known, .total = c->total_ipus, .calls = c->calls};
    for (size_t i = 0; i < c->listed->count; i++) {
        const struct vipu_partition *partition = &c->listed->items[i];
        bool ours = is_ours(r, c->config->name, partition->id);

        *(ours ? &ret->held : &ret->foreign) += partition->size;
        ret->foreign_partitions += !ours;
    }
    if (c->total_ipus) {
        ret->free = room.free_ipus;
        ret->largest_free = vipu_pool_largest_free(&room);
    }
    vipu_pool_view_release(&room);
}

static void count_losses(const struct reconciler *r, struct metrics_snapshot *ret)
{
    const struct claims_plan *told = r->queue_plan.told;

    for (size_t i = 0; i < ret->controller_count; i++)
        plan_loss_add(told ? &told->input : NULL, told ? forecast_plan_of(told->forecast) : NULL, (uint32_t)i,
                      ret->controllers[i].is_up ? ret->controllers[i].free : 0, ret->losses);
}

static struct metrics_namespace *namespace_of(struct metrics_snapshot *ret, struct map *by_name,
                                              const char *name)
{
    struct metrics_namespace *ns;

    name = accounting_name(by_name, name);
    ns = map_get(by_name, name);
    if (!ns) {
        ns = &ret->namespaces[ret->namespace_count++];
        ns->name = name;
        map_set(by_name, name, ns);
    }
    return ns;
}

static void count_shares(const struct reconciler *r, struct metrics_snapshot *ret, struct map *by_name)
{
    AUTO(share_list) struct share_list shares = {0};

    namespace_shares_read(r, &shares);
    ret->share_half_life_s = shares.half_life_s;
    for (size_t i = 0; i < shares.count; i++) {
        struct metrics_namespace *ns = namespace_of(ret, by_name, shares.items[i].ns);

        ns->used_ipu_s += shares.items[i].used_ipu_s;
        ns->weight = str_eq(ns->name, ACCOUNTING_OTHERS) ? 0 : shares.items[i].weight;
    }
    if (shares.others_ipu_s)
        namespace_of(ret, by_name, ACCOUNTING_OTHERS)->used_ipu_s += shares.others_ipu_s;
}

static void count_namespaces(const struct reconciler *r, struct metrics_snapshot *ret)
{
    struct map by_name = {0};
    const char *name;
    void *value;

    ret->namespaces = mem_alloc((ACCOUNTING_NAMESPACES_MAX + 1) * sizeof(*ret->namespaces));
    for (size_t i = 0; map_next(&r->counters.accounting.accounts, &i, &name, &value);) {
        struct metrics_namespace *ns = namespace_of(ret, &by_name, name);

        ns->held += ((const struct account *)value)->ipus;
        ns->ipu_seconds += account_ipu_seconds(value, loop_now_ms(r->loop));
    }
    for (size_t i = 0; map_next(&r->queue_totals.namespaces, &i, &name, &value);)
        namespace_of(ret, &by_name, name)->waiting += ((const struct queue_namespace *)value)->ipus;
    count_shares(r, ret, &by_name);
    map_release(&by_name);
}

static void look_at_watches(const struct reconciler *r, struct metrics_snapshot *ret)
{
    const struct watch *watches[WATCHES_MAX];
    int64_t since_ms;

    ret->watch_count = reconciler_watches(r, watches);
    for (size_t i = 0; i < ret->watch_count; i++) {
        ret->watches[i].resource = watch_resource(watches[i]);
        if (watch_trouble(watches[i], &since_ms))
            ret->watches[i].trouble_s = (loop_now_ms(r->loop) - since_ms) / 1000;
    }
}

void metrics_snapshot_take(const struct reconciler *r, int64_t now_s, struct metrics_snapshot *ret)
{
    *ret = (struct metrics_snapshot){.waiting = r->queue_totals.claims,
                                     .waiting_s = age_s(now_s, &r->queue_totals.since)};
    metrics_snapshot_set_jobs(&r->job_counts, now_s, ret);
    ret->records = count_partitions(r);
    ret->pods = (uint32_t)store_count(watch_store(r->pods));
    ret->due = (uint32_t)workqueue_len(r->queue);
    ret->in_work = (uint32_t)r->executions.count;
    ret->controller_count = pool_count(r->pool);
    ret->controllers = mem_alloc((ret->controller_count + 1) * sizeof(*ret->controllers));
    for (size_t i = 0; i < ret->controller_count; i++)
        read_controller(r, i, &ret->controllers[i]);
    count_losses(r, ret);
    count_namespaces(r, ret);
    look_at_watches(r, ret);
}

void metrics_snapshot_release(struct metrics_snapshot *snapshot)
{
    mem_free(snapshot->controllers);
    mem_free(snapshot->namespaces);
    *snapshot = (struct metrics_snapshot){0};
}
