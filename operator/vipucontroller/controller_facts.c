#include "operator/vipucontroller/controller_facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/pool/claims.h"
#include "operator/reconcile/state/partitions.h"

static struct controller_partition read_partition(const struct reconciler *r, const char *controller,
                                                  const struct vipu_partition *listed)
{
    const struct record *record = reconciler_record(r, listed->id);
    bool is_ours = record && !record->spent_s && str_eq(record->controller, controller);
    bool has_job = is_ours && !record_is_ownerless(record);
    const struct job_cache *cache = has_job ? map_get(&r->job_caches, record->job_uid) : NULL;

    return (struct controller_partition){.listed = listed,
                                         .is_ours = is_ours,
                                         .job_ns = has_job ? record->job_ns : NULL,
                                         .job_key = has_job ? record->job_key : NULL,
                                         .until_s =
                                             cache ? job_cache_kept_end_s(cache, record) : FORECAST_UNKNOWN};
}

/* One that several controllers could serve waits for each of them. */
static uint32_t count_waiting(const struct reconciler *r, size_t index, const struct vipu_pool_view *pool)
{
    const struct claims_controller controller = {.is_known = pool_controller(r->pool, index)->is_known,
                                                 .pool = pool};
    uint32_t count = 0;
    void *value;

    for (size_t i = 0; map_next(&r->queue_totals.groups, &i, NULL, &value);) {
        const struct queue_group *group = value;
        const struct claim claim = {.size = group->size, .eligible = group->eligible};

        if (claim_is_eligible(&claim, index) && claim_could_use(&claim, &controller))
            count += group->claims;
    }
    return count;
}

/* A list in another order is no change. */
static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct controller_partition *)a)->listed->id,
                  ((const struct controller_partition *)b)->listed->id);
}

void controller_report_read(const struct reconciler *r, size_t index, struct controller_report *ret)
{
    const struct pool_controller *c = pool_controller(r->pool, index);
    struct controller_partition *partitions = mem_alloc((c->listed->count + 1) * sizeof(*partitions));

    for (size_t i = 0; i < c->listed->count; i++)
        partitions[i] = read_partition(r, c->config->name, &c->listed->items[i]);
    qsort(partitions, c->listed->count, sizeof(*partitions), by_id);
    ret->pool = pool_free_capacity(r->pool, index);
    ret->facts = (struct controller_facts){
        .address = c->config->name,
        .is_known = c->is_known,
        .trouble = c->trouble,
        .is_rejected = c->trouble_kind == ERR_DENIED,
        .chooses = c->chooses,
        .listed_unix_s = c->listed_unix_s,
        .version = c->version,
        .cordon = &c->cordon,
        .pool = &ret->pool,
        .waiting = count_waiting(r, index, &ret->pool),
        .partitions = partitions,
        .partition_count = c->listed->count,
    };
}

void controller_report_release(struct controller_report *report)
{
    vipu_pool_view_release(&report->pool);
    mem_free(report->facts.partitions);
    *report = (struct controller_report){0};
}
