/* Releasing a partition: when the pods on it have stopped, it is removed, and then its record. Pure. */
#pragma once

#include "operator/reconcile/decide/model/plan.h"
#include "operator/reconcile/decide/model/verdict.h"
#include "operator/reconcile/decide/model/view.h"

/* May the instance need a partition again after this one is released? */
enum release {
    RELEASE_FOR_GOOD, /* never: the job or the instance is over */
    RELEASE_FOR_NOW,  /* perhaps: the record says so first, because a removal may be slow and must not hit a
                         partition in use */
    RELEASE_KEEPS_ID, /* likewise, and the record stays, so that its id is not used again */
};

/* Why a record is releasing, unless it is because of a failure. */
#define RECORD_RELEASED "Released"
#define RECORD_PODS_REJECTED "PodsRejected"

/* Which pods are kept for their logs when they have ended. */
enum keep { KEEP_NOTHING, KEEP_LAUNCHERS, KEEP_ALL };
/* Stops a pod that is to be kept, and deletes any other. */
void end_pod(const struct job_view *view, enum keep keep, const struct pod *pod, struct plan *plan);

/* Ends an instance: stops its pods, deletes those that are not to be kept, and releases its IPUs once none of
 * them can run. Returns a sentence about what is still to be done (owned), or NULL when nothing is left. */
char *instance_stop(const struct job_view *view, const struct instance_view *inst, enum keep keep,
                    enum release release, struct plan *plan);
/* Sums up the pods of a record, record_pod_count() of them. */
void tombstone_sum_up(const struct worker_view *workers, struct tombstone_view *tomb);
/* Releases the IPUs of a record that is no longer used. Returns what it waits for (owned), or NULL. */
char *tombstone_decide(const struct job_view *view, const struct tombstone_view *tomb, enum release release,
                       struct plan *plan);

/* Decides about a record of an earlier attempt. verdict: as in inactive.h. */
enum release release_of(const struct job_view *view, const struct record *record,
                        const struct job_verdict *verdict);
