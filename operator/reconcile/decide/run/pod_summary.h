/* The workers of an instance's current run, summed up. Pure. */
#pragma once

#include "operator/reconcile/decide/model/failure.h"
#include "operator/reconcile/decide/model/plan.h"
#include "operator/reconcile/decide/model/view.h"

/* The pods of one run. A pod that is cut short by a deletion is neither succeeded nor failed: it counts as
 * gone, however its containers take it. Who was taken away by the cluster, and not by a user, is a failure:
 * the policy decides. */
struct pod_summary {
    uint32_t present, never_seen, gone;
    uint32_t running, succeeded, failed;
    uint32_t may_be_running;   /* present, may still run, and is not lost */
    struct failure failure;    /* the first of them all, with a pod that was taken away; reason NULL: none */
    struct failure for_policy; /* whose exit code restartPolicy asks about: the launcher's, if it has one */
    const struct pod *waiting_pod; /* its status has the reason */
    const struct pod
        *not_prepared;        /* its node has not got its volumes and network yet; the longest of them */
    uint32_t with_ended_main; /* running workers whose first container has ended */
    const struct pod *with_running_sidecar; /* one of them */
    uint32_t ready;                         /* workers that a launcher can reach */
    uint32_t not_started;                   /* being prepared by their node, without a reported problem */
    const struct pod *launcher, *launcher_done;
    const struct worker_view *lost; /* the one whose processes may live on, noticed last */
    uint32_t lost_index;
    int64_t lost_after_ms; /* when the first that was asked to go counts as lost; 0: none */
    bool record_changed;
};

void pod_summary_of(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods);
