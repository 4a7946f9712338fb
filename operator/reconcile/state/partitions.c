#include "operator/reconcile/state/partitions.h"

const struct record *reconciler_record(const struct reconciler *r, const char *partition)
{
    return store_view(watch_store(r->records), r->options.operator_ns, partition);
}

void reconciler_follow(struct reconciler *r, const struct record *record)
{
    struct job_cache *cache = job_cache_get(r, record->job_key, record->job_uid);
    struct partition_cache *partition = job_cache_partition(cache, record->name, loop_now_ms(r->loop));

    if (partition->run != record->run) { /* also when the answer to the patch was lost */
        partition_cache_begin_run(partition, record->run, loop_now_ms(r->loop));
        pool_begin_run(r->pool, record->controller, record->name);
    }
    pool_follow(r->pool, &(struct pool_track){
                             .controller = record->controller,
                             .id = record->name,
                             .size = record->size,
                             .is_ours_fresh = partition->is_ours_fresh,
                             .started = record->started,
                             .is_unsettled =
                                 !partition->is_ours_fresh && (record->outcome_unknown || !record->started),
                             .may_be_reset = record->run > 0 && !record->started,
                             .reserves = !record->releasing,
                         });
}

struct pod_vipu_credentials vipu_access(const struct reconciler *r, const char *controller)
{
    int index = pool_find(r->pool, controller);
    const struct pool_controller *c = index < 0 ? NULL : pool_controller(r->pool, (size_t)index);

    if (!c)
        return (struct pod_vipu_credentials){0};
    return (struct pod_vipu_credentials){.user_id = c->controller_secret->job_user_id,
                                         .key = c->controller_secret->job_key,
                                         .ca_pem = c->config->tls ? c->controller_secret->ca_pem : NULL};
}

bool claim_is_served(const struct reconciler *r, const struct claim_cache *claim)
{
    return claim->record && pool_reserves(r->pool, claim->record);
}
