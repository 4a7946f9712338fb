#include "base/core/mem.h"
#include "operator/reconcile/observe/job_cache_events.h"
#include "operator/reconcile/state/nodes.h"
#include "operator/reconcile/state/partitions.h"
#include "operator/reconcile/queue/claim_window.h"
#include "operator/reconcile/state/schedule.h"

#define UNLISTED_AT_ONCE 500 /* in a turn of the loop */

/* ---- pods ---- */

static void note_present(struct reconciler *r, const struct pod *pod, struct job_cache *cache,
                         struct worker_cache *worker)
{
    if (pod->begun_s && !worker->has_begun) {
        worker->has_begun = true;
        job_cache_note_start(cache, loop_now_ms(r->loop));
    }
    worker->state = WORKER_PRESENT;
    worker->revision = pod->revision;
    if (pod->node && !worker->bound_version)
        parse_i64(pod->resource_version, 0, INT64_MAX, &worker->bound_version);
    /* A waiting pod may be started by the next boot of its node. */
    if (pod->node && pod->phase != POD_PENDING && !worker->has_started) {
        worker->has_started = true;
        worker->boot = node_boot(node_seen(r, pod->node));
        parse_i64(pod->resource_version, 0, INT64_MAX, &worker->started_version);
    }
    worker->disruption = pod->disruption;
    worker->disrupted_s = pod->disrupted_s;
    if (pod_is_ending(pod) && !worker->is_ending) {
        worker->is_ending = true;
        worker->since_ms = loop_now_ms(r->loop);
    }
}

/* What the watch did not see is unknown: a pod that had no node then may have had one since. */
static void note_gone(struct reconciler *r, const struct pod *last, bool final_state_unknown,
                      struct worker_cache *worker)
{
    bool fenced = node_is_fenced(r, last->node, worker);
    bool stopped = pod_has_stopped(last, !final_state_unknown, fenced);

    mem_set_str(&worker->pod, last->name);
    mem_set_str(&worker->node, last->node);
    worker->disruption = last->disruption;
    worker->disrupted_s = last->disrupted_s;
    worker->state = stopped ? WORKER_GONE_STOPPED : WORKER_GONE_UNKNOWN;
    worker->since_ms = loop_now_ms(r->loop);
}

/* The cache entry of a pod, or NULL. Without a record nothing is decided about a partition: pods that stay
 * for their logs, or are deleted after their job, are not cached, and their annotations are compared with
 * the record. Until the records are listed, all pods are cached; and a cached pod is followed to its end,
 * because a missed end would be waited for indefinitely. */
static struct partition_cache *partition_cache_of(struct reconciler *r, const struct pod *pod)
{
    const struct record *record = pod->partition ? reconciler_record(r, pod->partition) : NULL;
    struct job_cache *cache = map_get(&r->job_caches, pod->job_uid);

    if (!pod->partition || pod->worker >= POD_SEATS_MAX)
        return NULL;
    if (record && (!str_eq(record->job_uid, pod->job_uid) || pod->worker >= record_pod_count(record)))
        return NULL;
    if (!record && watch_is_synced(r->records))
        return cache ? map_get(&cache->partitions, pod->partition) : NULL;
    cache = job_cache_get(r, pod->job_key, pod->job_uid);
    return job_cache_partition(cache, pod->partition, loop_now_ms(r->loop));
}

void job_cache_on_pod(struct reconciler *r, const struct store_change *change, const struct pod *pod)
{
    struct partition_cache *partition = partition_cache_of(r, pod);
    struct job_cache *cache = map_get(&r->job_caches, pod->job_uid);

    if (cache)
        job_cache_note_version(cache, pod->resource_version);
    if (partition && pod->run > partition->run)
        partition_cache_begin_run(partition, pod->run, loop_now_ms(r->loop));
    if (!partition || pod->run != partition->run)
        return;
    if (change->new)
        note_present(r, pod, map_get(&r->job_caches, pod->job_uid),
                     partition_cache_worker(partition, pod->worker));
    else
        note_gone(r, pod, change->final_state_unknown, partition_cache_worker(partition, pod->worker));
}

void job_cache_on_pods_of_record(struct reconciler *r, const struct record *record)
{
    for (const struct store_item *i = store_first_of(watch_store(r->pods), record->job_key); i;
         i = store_next_of(i)) {
        const struct pod *pod = i->view;

        if (pod->partition && str_eq(pod->partition, record->name) && str_eq(pod->job_uid, record->job_uid))
            job_cache_on_pod(r, &(struct store_change){.new = i->view}, pod);
    }
}

/* ---- dropping ---- */

void job_cache_forget(struct reconciler *r, const char *key, const char *uid)
{
    for (const struct store_item *i = store_first_of(watch_store(r->records), key); i; i = store_next_of(i)) {
        const struct record *record = i->view;

        if (str_eq(record->job_uid, uid))
            return;
    }
    map_remove(&r->confirmed_gone, uid);
    claim_window_remove(r, uid);
    map_remove(&r->with_offers, uid);
    job_cache_drop(r, uid);
    reconciler_claims_changed(r);
}

struct owner {
    const struct reconciler *r;
    const char *uid;
};

static bool has_record(void *ctx, const char *partition)
{
    const struct owner *owner = ctx;
    const struct record *record = reconciler_record(owner->r, partition);

    return record && str_eq(record->job_uid, owner->uid);
}

bool job_cache_forget_unlisted(struct reconciler *r)
{
    for (unsigned i = 0; i < UNLISTED_AT_ONCE && r->unlisted_count; i++) {
        struct job_cache *cache = r->unlisted[--r->unlisted_count];
        const struct store_item *item;

        if (!cache)
            continue;
        cache->unlisted_at = 0;
        item = store_get(watch_store(r->jobs), cache->key);
        job_cache_keep_partitions(cache, has_record, &(struct owner){r, cache->uid});
        if (!item || !str_eq(((const struct job *)item->view)->uid, cache->uid))
            job_cache_forget(r, cache->key, cache->uid);
    }
    if (r->unlisted_count)
        return false;
    mem_free(TAKE(r->unlisted));
    r->unlisted_cap = 0;
    return true;
}
