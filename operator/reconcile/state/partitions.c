#include "operator/reconcile/state/partitions.h"

#include "operator/pool/partition_key.h"
#include "operator/reconcile/decide/lifetime.h"

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
    if (record->created_s > cache->served_s)
        cache->served_s = record->created_s;
    pool_follow(r->pool, &(struct pool_track){
                             .controller = record->controller,
                             .id = record->name,
                             .job_uid = record->job_uid,
                             .place = record->place,
                             .size = record->size,
                             .is_ours_fresh = partition->is_ours_fresh,
                             .started = record->started,
                             .is_unsettled =
                                 !partition->is_ours_fresh && (record->outcome_unknown || !record->started),
                             .may_be_reset = record->run > 0 && !record->started,
                             .reserves = !record->releasing,
                         });
}

struct vipu_access vipu_access_of(const struct reconciler *r, const struct record *record)
{
    int index = pool_find(r->pool, record->controller);
    const struct pool_controller *c = index < 0 ? NULL : pool_controller(r->pool, (size_t)index);
    struct vipu_access access = {0};

    if (!c)
        return access;
    access.ca_pem = c->config->tls ? c->controller_secret->ca_pem : NULL;
    if (c->controller_secret->partition_secret) {
        access.user_id = mem_printf(VIPU_PARTITION_USER "%s", record->name);
        access.key =
            partition_key_derive(c->controller_secret->partition_secret, record->name, record->job_uid);
    } else {
        access.user_id = mem_strdup(c->controller_secret->job_user_id);
        access.key = mem_strdup(c->controller_secret->job_key);
    }
    return access;
}

void vipu_access_release(struct vipu_access *access)
{
    mem_free_secret(access->key);
    mem_free(access->user_id);
    *access = (struct vipu_access){0};
}

bool grant_is_being_recorded(const struct reconciler *r, const struct grant_cache *grant)
{
    return grant->record && grant->controller && !reconciler_record(r, grant->record) &&
           !pool_reserves(r->pool, grant->record);
}

void add_served(const struct reconciler *r, const struct job_claims *claims, struct indexset *ret)
{
    for (size_t i = 0; i < claims->grant_count; i++) {
        const struct grant_cache *grant = &claims->grants[i];

        if (grant->record && (pool_reserves(r->pool, grant->record) || grant_is_being_recorded(r, grant)))
            indexset_add(ret, grant->instance);
    }
}

/* A partition that is being removed is gone soon. Until it is, nobody knows when for sure. */
#define REMOVED_WITHIN_S 60

const char *reconciler_preemptor(const struct reconciler *r, const struct record *record)
{
    const struct job_cache *cache = map_get(&r->job_caches, record->job_uid), *preemptor;
    const struct partition_cache *partition = cache ? map_get(&cache->partitions, record->name) : NULL;

    if (record->preemptor || !partition || !partition->preemptor_uid)
        return record->preemptor;
    preemptor = map_get(&r->job_caches, partition->preemptor_uid);
    return cache->is_preemptible && preemptor && job_claims_wait(&preemptor->claims) ? partition->preemptor
                                                                                     : NULL;
}

int64_t reconciler_end_s(const struct reconciler *r, const struct record *record, int64_t now_s)
{
    const struct job_cache *cache = map_get(&r->job_caches, record->job_uid);
    int64_t end_s = cache ? job_cache_kept_end_s(cache, record) : FORECAST_UNKNOWN, leaves_s = end_s;

    if (cache && record->releasing)
        leaves_s = now_s + REMOVED_WITHIN_S;
    else if (cache && reconciler_preemptor(r, record))
        leaves_s = now_s + lifetime_release_s(cache->grace_s);
    return leaves_s < end_s ? leaves_s : end_s;
}
