/* How things stand in the whole, for metrics: counted when somebody asks, from what the reconciler knows
 * anyway. Its size follows the number of V-IPU controllers, never that of jobs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "operator/pool/pool.h"
#include "operator/reconcile/state/reconciler_options.h"
#include "operator/reconcile/decide/model/verdict.h"

struct job;
struct reconciler;

#define METRICS_JOB_STATES (JOB_TERMINATING + 1)

struct metrics_controller {
    const char *name; /* borrowed from the configuration */
    bool is_up;
    uint32_t total;               /* IPUs; 0: it does not tell */
    uint32_t free, held, foreign; /* unused, held by jobs, held by partitions of other owners */
    uint32_t largest_free;        /* the largest partition that fits now */
    uint32_t foreign_partitions;
    const struct pool_counter *calls; /* POOL_CALLS of them; borrowed from the pool */
};

struct metrics_watch {
    const char *resource; /* borrowed */
    int64_t trouble_s;    /* for how long it has been in trouble; 0: it is well */
};

struct metrics_snapshot {
    uint32_t jobs[METRICS_JOB_STATES];
    uint32_t vendors;      /* of the vendor's operator, left alone; in no state above */
    uint32_t waiting;      /* instances in line for IPUs */
    int64_t waiting_s;     /* age of the oldest claim; 0: none waits */
    int64_t terminating_s; /* how long the first job that is being deleted has been; 0: none is */
    uint32_t records, pods;
    uint32_t due;                           /* jobs that are to be looked at now */
    uint32_t in_work;                       /* jobs with requests in flight */
    struct metrics_controller *controllers; /* owned */
    size_t controller_count;
    struct metrics_watch watches[WATCHES_MAX];
    size_t watch_count;
};

void metrics_snapshot_take(const struct reconciler *reconciler, int64_t now_unix_s,
                           struct metrics_snapshot *ret);
void metrics_snapshot_count_job(const struct job *job, int64_t now_unix_s,
                                struct metrics_snapshot *snapshot); /* pure */
void metrics_snapshot_release(struct metrics_snapshot *snapshot);

static inline void metrics_snapshot_auto(struct metrics_snapshot *snapshot)
{
    metrics_snapshot_release(snapshot);
}
