/* Sums up the workers of an instance's current run. Pure. */
#pragma once

#include "operator/reconcile/decide/model/failure.h"
#include "operator/reconcile/decide/model/plan.h"
#include "operator/reconcile/decide/model/view.h"

/* The pods of one run. A pod that was deleted or stopped while it ran is neither succeeded nor failed: it
 * counts as gone, whatever its containers report. A pod that the cluster evicted, rather than a user deleted,
 * is a failure: the restart policy decides. */
struct pod_summary {
    uint32_t present, never_seen, gone;
    uint32_t running, succeeded, failed;
    uint32_t may_be_running;   /* present, may still run, and is not lost */
    struct failure failure;    /* the earliest, including evicted pods; reason NULL: none */
    struct failure for_policy; /* the pod whose exit code restartPolicy uses: the launcher, if there is one */
    const struct pod *waiting_pod; /* its status has the reason */
    const struct pod
        *not_prepared; /* whose node has not set up its volumes and network yet; the longest of them */
    const struct pod *with_running_init;    /* the longest scheduled one */
    uint32_t with_ended_main;               /* running workers whose first container has ended */
    const struct pod *with_running_sidecar; /* one of them */
    uint32_t ready;                         /* workers that the launcher can reach */
    uint32_t unready;                       /* that run and are not ready, with the launcher... */
    const struct pod *unready_pod;          /* ...the first of them */
    uint32_t begun;                         /* whose containers have started, other than init containers */
    uint32_t not_started;                   /* being prepared by their node, without a reported problem */
    const struct pod *launcher, *launcher_done;
    const struct worker_view *lost; /* the one whose processes may be running, noticed last */
    uint32_t lost_index;
    const struct worker_view *terminating; /* the first that counts as lost if it does not end */
    bool record_changed;
};

void pod_summary_of(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods);
