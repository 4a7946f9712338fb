#include "operator/reconcile/queue/run_times.h"

#include <stdio.h>

#include "base/core/mem.h"
#include "operator/history/history.h"
#include "operator/reconcile/accounting/run_end.h"

static int64_t elapsed_s(const struct reconciler *r, const struct job_cache *cache,
                         const struct record *record)
{
    const struct partition_cache *partition = map_get(&cache->partitions, record->name);

    return run_elapsed_s(
        record, partition && partition->is_ours_fresh ? partition->since_ms : -1,
        (struct run_time){.loop_ms = loop_now_ms(r->loop), .unix_s = loop_unix_micros() / 1000000});
}

struct forecast_quantiles run_times_of_kind(const struct reconciler *r, const struct run_kind *kind)
{
    return history_run(r->history, kind, loop_now_ms(r->loop) / 1000);
}

struct forecast_quantiles run_times_of_running(const struct reconciler *r, const struct record *record)
{
    const struct job_cache *cache = map_get(&r->job_caches, record->job_uid);

    if (!cache)
        return (struct forecast_quantiles){0};
    return history_left(r->history, &cache->kind, elapsed_s(r, cache, record),
                        r->progress_of ? r->progress_of(r->progress, record) : NULL,
                        loop_now_ms(r->loop) / 1000);
}

struct run_kind run_times_kind(const char *ns, const char *name, uint64_t image, uint32_t size)
{
    char text[17];

    (void)snprintf(text, sizeof text, "%llx", (unsigned long long)image);
    return run_kind_of(ns, name, text, size);
}

void run_times_note_job(struct job_cache *cache, const struct job *job)
{
    cache->kind = run_times_kind(job->ns, job->name, job->image, job->spec.ipus_per_instance);
}

/* A job that this process has not reconciled has no kind. */
void run_times_note_record(struct reconciler *r, const struct job_cache *cache, const struct record *old,
                           const struct record *new)
{
    int64_t seconds;

    if (!run_has_ended(old, new) || !cache->kind.size)
        return;
    seconds = elapsed_s(r, cache, old);
    usage_note(&r->history->usage, old->job_ns, old->size, seconds, loop_unix_micros() / 1000000);
    if (!old->preemptor) /* how long it would have run is not known */
        history_note_run(r->history, &cache->kind, seconds);
}
