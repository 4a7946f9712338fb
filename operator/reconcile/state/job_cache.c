#include "operator/reconcile/state/job_cache.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "operator/api/reasons.h"
#include "operator/kube/watch/watch.h"
#include "operator/reconcile/decide/lifetime.h"
#include "operator/reconcile/state/rejection_backoff.h"

#define REJECTIONS_FORGOTTEN_MS 600000
/* An API server that fails a request recovers within seconds; after that an admin has to act. */
#define OUTAGE_MS 10000
/* After more starts in a row that failed and gave their IPUs up, a job is queued behind those that
 * were there then: else enough of them could take turns forever while a younger job could run. */
#define REQUEUES_KEEP_AGE 3
#define TRIES_MAX 1000000 /* that a status can tell */

struct job_cache *job_cache_new(const char *key, const char *uid)
{
    struct job_cache *cache = NEW(struct job_cache);

    cache->key = mem_strdup(key);
    cache->uid = mem_strdup(uid);
    return cache;
}

static void release_worker(struct worker_cache *worker)
{
    mem_free(worker->pod);
    mem_free(worker->node);
    *worker = (struct worker_cache){0};
}

static void forget_ports(struct partition_cache *partition)
{
    mem_free(partition->agent_ports);
    partition->agent_ports = NULL;
    partition->agent_port_count = 0;
}

static void free_part(struct partition_cache *partition)
{
    forget_ports(partition);
    mem_free(partition->preemptor);
    mem_free(partition->preemptor_uid);
    for (uint32_t i = 0; i < partition->worker_count; i++)
        release_worker(&partition->workers[i]);
    mem_free(partition->workers);
    mem_free(partition);
}

void job_cache_free(struct job_cache *cache)
{
    void *value;

    if (!cache)
        return;
    for (size_t i = 0; map_next(&cache->partitions, &i, NULL, &value);)
        free_part(value);
    map_release(&cache->partitions);
    map_release(&cache->foreign_ids);
    for (size_t i = 0; i < cache->expectation_count; i++) {
        mem_free(cache->expectations[i].key);
        mem_free(cache->expectations[i].resource_version);
        mem_free(cache->expectations[i].other_than);
    }
    mem_free(cache->expectations);
    job_claims_release(&cache->claims);
    mem_free(cache->eligible);
    mem_free(cache->versions);
    mem_free(cache->dry_run_text);
    mem_free(cache->create_text);
    mem_free(cache->write_rejected);
    mem_free(cache->key);
    mem_free(cache->uid);
    mem_free(cache);
}

struct partition_cache *job_cache_partition(struct job_cache *cache, const char *id, int64_t now_ms)
{
    struct partition_cache *partition = map_get(&cache->partitions, id);

    if (!partition) {
        partition = NEW(struct partition_cache);
        partition->since_ms = partition->run_since_ms = now_ms;
        map_set(&cache->partitions, id, partition);
    }
    return partition;
}

void job_cache_forget_partition(struct job_cache *cache, const char *id)
{
    struct partition_cache *partition = map_remove(&cache->partitions, id);

    if (partition)
        free_part(partition);
}

void job_cache_keep_partitions(struct job_cache *cache, bool (*is_wanted)(void *ctx, const char *id),
                               void *ctx)
{
    struct map kept = {0};
    const char *id;
    void *partition;

    for (size_t i = 0; map_next(&cache->partitions, &i, &id, &partition);) {
        if (is_wanted(ctx, id))
            map_set(&kept, id, partition);
        else
            free_part(partition);
    }
    map_release(&cache->partitions);
    cache->partitions = kept;
}

struct worker_cache *partition_cache_worker(struct partition_cache *partition, uint32_t worker)
{
    if (worker >= partition->worker_count) {
        partition->workers = mem_grow(partition->workers, worker + 1, sizeof(*partition->workers));
        memset(partition->workers + partition->worker_count, 0,
               (worker + 1 - partition->worker_count) * sizeof(*partition->workers));
        partition->worker_count = worker + 1;
    }
    return &partition->workers[worker];
}

void partition_cache_note_launch(struct partition_cache *partition)
{
    if (!partition->launch_noted_by_us) {
        partition->keys = KEYS_UNKNOWN;
        partition->is_rejected = false; /* the last one was about another object */
    }
    partition->launch_noted_by_us = true;
}

void partition_cache_begin_run(struct partition_cache *partition, uint32_t run, int64_t now_ms)
{
    for (uint32_t i = 0; i < partition->worker_count; i++)
        release_worker(&partition->workers[i]);
    partition->run = run;
    partition->run_since_ms = now_ms;
    partition->keys = KEYS_UNKNOWN;
    partition->launch_noted_by_us = partition->is_rejected = false;
    partition->offered_since_ms = 0;
    partition->is_offered = partition->is_wanted = partition->is_given_up = false;
    forget_ports(partition);
}

void job_cache_set_dry_run(struct job_cache *cache, int64_t generation, const struct dry_run_result *result)
{
    cache->dry_run_generation = generation;
    cache->dry_run = result->reason ? DRY_RUN_REJECTED : DRY_RUN_PASSED;
    cache->dry_run_reason = result->reason;
    mem_set_str(&cache->dry_run_text, result->text);
    cache->dry_run_retry_at_ms = result->retry_at_ms;
    if (!result->reason) {
        cache->priority = result->priority;
        cache->preempts = result->preempts;
    }
}

void job_cache_note_rejection(struct job_cache *cache, int64_t generation, const char *reason,
                              char *text_take, int64_t now_ms)
{
    bool is_next_try = !cache->create_rejected || now_ms >= cache->create_retry_at_ms;

    if (now_ms >= cache->create_retry_at_ms + REJECTIONS_FORGOTTEN_MS && !cache->requeues)
        cache->create_rejections = 0;
    if (is_next_try) {
        cache->create_rejected_ms = now_ms;
        cache->create_retry_at_ms = now_ms + rejection_backoff_ms(cache->uid, ++cache->create_rejections);
    }
    cache->create_rejected = true;
    cache->served_s = 0; /* in vain: the job keeps its age */
    cache->create_generation = generation;
    cache->create_reason = reason;
    mem_free(cache->create_text);
    cache->create_text = text_take;
}

void job_cache_note_creation(struct job_cache *cache, int64_t now_ms)
{
    if (now_ms >= cache->create_retry_at_ms && !cache->requeues) /* those pods had been created, too */
        cache->create_rejected = false;
}

void job_cache_note_requeue(struct job_cache *cache, int64_t generation, struct partition_cache *partition,
                            char *text_take, int64_t now_ms, int64_t now_unix_s)
{
    unsigned before;

    if (cache->create_generation != generation) {
        cache->requeues = cache->create_rejections = 0;
        cache->create_rejected = false;
    }
    before = cache->create_rejections;
    job_cache_note_rejection(cache, generation, partition->offered_for, text_take, now_ms);
    cache->requeues += cache->create_rejections != before || !cache->requeues;
    cache->requeued_s = now_unix_s;
    partition->is_given_up = true;
}

void job_cache_note_idle(struct job_cache *cache, bool is_idle, int64_t now_unix_s)
{
    if (cache->is_idle && !is_idle)
        cache->resumed_s = now_unix_s;
    cache->is_idle = is_idle;
}

static bool says_idle(const cJSON *status)
{
    return str_eq(json_str(status, "launcherStatus", ""), "Suspended") ||
           str_eq(json_str(status, "reason", ""), "ScaledToZero");
}

/* Instances that got IPUs may have left no record, see reconciler_follow. Before 'queuedSince' there was only
 * 'queue'. */
static void recall_turn(struct job_cache *cache, const cJSON *status, int64_t now_unix_s)
{
    const char *text = json_str(status, "queuedSince", json_str(status, "queue/since", ""));
    int64_t since_s;

    if (!timefmt_parse_rfc3339(text, &since_s))
        return;
    if (since_s > now_unix_s)
        since_s = now_unix_s;
    if (!cache->takes_turns)
        cache->resumed_s = since_s;
    else if (since_s > cache->served_s)
        cache->served_s = since_s;
}

void job_cache_recall_status(struct job_cache *cache, int64_t generation, const cJSON *status, int64_t now_ms,
                             int64_t now_unix_s)
{
    const cJSON *failure = json_at(status, "startFailure");
    const struct reason *reason = reason_find(json_str(failure, "reason", ""));
    int64_t tries = json_i64(failure, "tries", -1), since_s = now_unix_s;

    if (cache->knows_status)
        return;
    /* If it is resumed, the previous leader may have written since when it waits, which is not seen yet. */
    if (says_idle(status)) {
        cache->is_idle = cache->is_idle || !cache->resumed_s;
        return;
    }
    cache->knows_status = true;
    recall_turn(cache, status, now_unix_s);
    if (!reason || tries < 0 || tries > TRIES_MAX || json_i64(status, "observedGeneration", 0) != generation)
        return;
    timefmt_parse_rfc3339(json_str(failure, "time", ""), &since_s);
    cache->requeues = (unsigned)tries;
    cache->create_rejections = tries ? (unsigned)tries : 1; /* 0: the API server rejected it */
    cache->requeued_s = since_s;
    cache->create_rejected = true;
    cache->create_generation = generation;
    cache->create_reason = reason->name;
    mem_set_str(&cache->create_text, json_str(failure, "message", ""));
    cache->create_rejected_ms = now_ms;
    cache->create_retry_at_ms = now_ms + rejection_backoff_ms(cache->uid, cache->create_rejections) -
                                (now_unix_s > since_s ? now_unix_s - since_s : 0) * 1000;
}

void job_cache_note_start(struct job_cache *cache, int64_t now_ms)
{
    if (!cache->requeues || now_ms < cache->create_retry_at_ms)
        return;
    cache->requeues = cache->create_rejections = 0;
    cache->create_rejected = false;
}

int64_t job_cache_queued_since_s(const struct job_cache *cache, int64_t created_s)
{
    /* Times may be from the status, which an admin of the namespace can write: they make no job older. */
    int64_t since_s = cache->resumed_s > created_s ? cache->resumed_s : created_s;
    bool keeps_age = cache->requeues <= REQUEUES_KEEP_AGE || cache->requeued_s < since_s;

    return keeps_age ? since_s : cache->requeued_s;
}

int64_t job_cache_turn_s(const struct job_cache *cache)
{
    int64_t since_s = job_cache_queued_since_s(cache, cache->created_s);

    return cache->takes_turns && cache->served_s > since_s ? cache->served_s : since_s;
}

static int64_t end_s(const struct job_cache *cache, int64_t start_s, int64_t bound_s)
{
    return bound_s ? (cache->limited_s ? cache->limited_s : start_s) + bound_s : FORECAST_UNKNOWN;
}

int64_t job_cache_end_s(const struct job_cache *cache, int64_t start_s)
{
    return end_s(cache, start_s, lifetime_bound_s(cache->limit_s, cache->grace_s));
}

int64_t job_cache_kept_end_s(const struct job_cache *cache, const struct record *record)
{
    int64_t now = job_cache_end_s(cache, record->created_s);
    int64_t kept = end_s(cache, record->created_s, lifetime_bound_s(record->limit_s, record->grace_s));

    return kept < now ? kept : now;
}

bool job_cache_note_outage(struct job_cache *cache, enum op_kind op, int64_t now_ms)
{
    if (!cache->failing_since_ms || cache->failing_op != op)
        cache->failing_since_ms = now_ms;
    cache->failing_op = op;
    return now_ms >= cache->failing_since_ms + OUTAGE_MS;
}

void job_cache_note_success(struct job_cache *cache, enum op_kind op)
{
    if (cache->failing_op == op)
        cache->failing_since_ms = 0;
    if (cache->write_rejected_op == op)
        mem_set_str(&cache->write_rejected, NULL);
}

void job_cache_reject_starts(struct job_cache *cache)
{
    void *partition;

    cache->dry_run_generation = 0; /* the watch did not show all of it */
    for (size_t i = 0; map_next(&cache->partitions, &i, NULL, &partition);)
        ((struct partition_cache *)partition)->is_rejected = true;
}

/* Never 0, which marks an unused slot. If two versions of a job had the same hash, it would only be
 * reconciled a moment too soon. */
static uint64_t version_hash(const char *resource_version)
{
    return str_hash(resource_version) | 1;
}

void job_cache_note_version(struct job_cache *cache, const char *resource_version)
{
    if (watch_can_compare(resource_version))
        return; /* watch_has_passed compares them instead */
    if (!cache->versions)
        cache->versions = mem_alloc(JOB_CACHE_VERSIONS * sizeof(*cache->versions));
    cache->versions[cache->version_next] = version_hash(resource_version);
    cache->version_next = (cache->version_next + 1) % JOB_CACHE_VERSIONS;
}

bool job_cache_has_version(const struct job_cache *cache, const char *resource_version)
{
    uint64_t hash = version_hash(resource_version);

    for (size_t i = 0; cache->versions && i < JOB_CACHE_VERSIONS; i++) {
        if (cache->versions[i] == hash)
            return true;
    }
    return false;
}

void job_cache_expect(struct job_cache *cache, const struct expectation *expectation)
{
    struct expectation *added;

    cache->expectations =
        mem_grow(cache->expectations, cache->expectation_count + 1, sizeof(*cache->expectations));
    added = &cache->expectations[cache->expectation_count++];
    *added = *expectation;
    added->key = mem_strdup(expectation->key);
    added->resource_version = mem_strdup(expectation->resource_version);
    added->other_than = mem_strdup(expectation->other_than);
}

void job_cache_drop_expectation(struct job_cache *cache, size_t index)
{
    mem_free(cache->expectations[index].key);
    mem_free(cache->expectations[index].resource_version);
    mem_free(cache->expectations[index].other_than);
    cache->expectations[index] = cache->expectations[--cache->expectation_count];
}
