/* The workers of an instance's current run, summed up, and the changes of the record that follow from them.
 * Pure. */
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
    const struct pod *waiting_pod; /* it says what for */
    const struct pod
        *not_prepared;        /* its node has not got its volumes and network yet; the longest of them */
    uint32_t with_ended_main; /* running workers whose first container has ended */
    const struct pod *with_running_sidecar; /* one of them */
    uint32_t ready;                         /* workers that a launcher can reach */
    uint32_t not_started; /* on a node that still prepares them, and says nothing of any trouble */
    const struct pod *launcher, *launcher_done;
    const struct worker_view *lost; /* the one whose processes may live on, noticed last */
    uint32_t lost_index;
    int64_t lost_after_ms; /* when the first that was asked to go counts as lost; 0: none */
    bool record_changed;
};

void pod_summary_of(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods);
void plan_delete_running_pods(const struct job_view *view, const struct instance_view *inst,
                              struct plan *plan); /* who has not ended */

/* The record to be, for the caller to change: one patch in a plan, so that none overtakes another. */
struct record *plan_patch_record(const struct instance_view *inst, struct pod_summary *pods,
                                 struct plan *plan);
/* The pod that was taken away goes, and with it what tells so: the record remembers. True when it had to. */
bool run_note_disruption(const struct instance_view *inst, struct pod_summary *pods, struct plan *plan);
/* Nothing of this run can be running, or come to be: a pod whose creation was never answered may still
 * arrive, and is waited for. */
bool run_is_over(const struct job_view *view, const struct instance_view *inst,
                 const struct pod_summary *pods, struct plan *plan);
struct record *run_begin_next(const struct instance_view *inst, struct pod_summary *pods, struct plan *plan);
/* A partition that cannot be used again goes; the instance gets another, under another id. */
void attempt_begin_next(const struct instance_view *inst, const char *reason, struct pod_summary *pods,
                        struct plan *plan);
