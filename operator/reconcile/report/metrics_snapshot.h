/* Totals for metrics, counted on request from what the reconciler knows anyway. The size depends on the
 * number of V-IPU controllers and of namespaces with jobs, never on that of jobs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "operator/pool/pool.h"
#include "operator/reconcile/report/plan_loss.h"
#include "operator/reconcile/state/reconciler_options.h"
#include "operator/reconcile/accounting/job_counts.h"

struct reconciler;

struct metrics_controller {
    const char *name; /* borrowed from the configuration */
    bool is_up;
    uint32_t total;               /* IPUs; 0: unknown */
    uint32_t free, held, foreign; /* unused, held by jobs, held by partitions of other owners */
    uint32_t largest_free;        /* the largest partition that can be created now */
    uint32_t foreign_partitions;
    const struct pool_counter *calls; /* POOL_CALLS of them; borrowed from the pool */
};

struct metrics_namespace {
    const char *name;    /* borrowed from the accounting and the totals of the queue */
    uint32_t held;       /* IPUs of its jobs */
    uint64_t waiting;    /* IPUs that its waiting instances request */
    double ipu_seconds;  /* held so far, as seen by this process */
    uint64_t used_ipu_s; /* as in share_list.h */
    uint32_t weight;     /* of its share; 0: of the others, who have one each */
};

struct metrics_watch {
    const char *resource; /* borrowed */
    int64_t trouble_s;    /* how long it has been in trouble; 0: not in trouble */
};

struct metrics_snapshot {
    uint32_t jobs[JOB_STATES];
    uint32_t vendors;      /* of the vendor's operator, left alone; not counted in any state above */
    uint32_t others;       /* likewise of another operator */
    uint32_t waiting;      /* instances queued for IPUs */
    int64_t waiting_s;     /* age of the oldest claim; 0: none waits */
    int64_t terminating_s; /* how long the oldest deletion of a job has taken; 0: no job is being deleted */
    uint32_t records, pods;
    uint32_t due;                           /* jobs that are due */
    uint32_t in_work;                       /* jobs with requests in flight */
    struct metrics_controller *controllers; /* owned */
    size_t controller_count;
    struct metrics_namespace *namespaces; /* owned; at most ACCOUNTING_NAMESPACES_MAX + 1 */
    size_t namespace_count;
    int64_t share_half_life_s;    /* 0: there are no shares */
    uint64_t losses[PLAN_LOSSES]; /* free IPUs, by why waiting instances do not use them */
    struct metrics_watch watches[WATCHES_MAX];
    size_t watch_count;
};

void metrics_snapshot_take(const struct reconciler *reconciler, int64_t now_unix_s,
                           struct metrics_snapshot *ret);
void metrics_snapshot_set_jobs(const struct job_counts *counts, int64_t now_unix_s,
                               struct metrics_snapshot *ret);
void metrics_snapshot_release(struct metrics_snapshot *snapshot);

static inline void metrics_snapshot_auto(struct metrics_snapshot *snapshot)
{
    metrics_snapshot_release(snapshot);
}
