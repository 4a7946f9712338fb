/* One instance of a job: its partition and its workers. Pure parts of decide. */
#pragma once

#include "operator/api/indexset.h"
#include "operator/reconcile/decide/model/failure.h"
#include "operator/reconcile/decide/model/plan.h"
#include "operator/reconcile/decide/model/view.h"

enum instance_phase {
    INSTANCE_WAITING,    /* for IPUs, or for a controller */
    INSTANCE_STARTING,   /* partition or pods are on their way */
    INSTANCE_RUNNING,    /* all workers run */
    INSTANCE_ENDING,     /* how it ends is decided, and something of it still runs */
    INSTANCE_RESTARTING, /* its pods go, to be started again */
    INSTANCE_HOLDING,    /* a process may still run on IPUs that cannot be given back yet */
    INSTANCE_DONE,
    INSTANCE_FAILED,
};

struct instance_result {
    enum instance_phase phase;
    const char *reason;            /* CamelCase constant, or borrowed from the view */
    char *text;                    /* a sentence without period, owned; NULL when there is nothing to say */
    const struct claim_wait *wait; /* WAITING in the queue for IPUs: the numbers behind the text; else NULL */
    bool has_partition;            /* active */
    bool has_unresponsive_controller;   /* it has not answered for long; the instance does not need it now */
    uint32_t active, succeeded, failed; /* pods */
    struct failure failure;             /* the first, for status; reason NULL: none */
    bool is_unanswered;                 /* a question is under way that is answered within milliseconds */
    bool is_step;                       /* STARTING: on the way up, and soon over; it need not be told yet */
    bool is_fatal;                      /* FAILED for a reason that only another spec can mend */
    bool is_stuck; /* pods wait for something that may never come: startDeadlineSeconds counts */
};

/* Is it to be started again from a changed template? */
enum rollout_action {
    ROLLOUT_NONE,
    ROLLOUT_STOP, /* not before the others have stopped too */
    ROLLOUT_REPLACE,
};

/* Drives one instance that should run. */
void instance_decide(const struct job_view *view, const struct instance_view *inst,
                     enum rollout_action rollout_action, struct plan *plan, struct instance_result *ret);
/* What all pods of a job share - the Service by which workers find each other, the NetworkPolicy of those
 * with a launcher - is made when it is not there: before the pods, and again when somebody deletes it.
 * Returns whether something is missing. */
bool decide_shared(const struct job_view *view, struct plan *plan);
/* Will somebody want the partition again that is given back? */
enum release {
    RELEASE_FOR_GOOD, /* never: the job or the instance is over */
    RELEASE_FOR_NOW, /* perhaps: the record says so first, for a removal may be slow, and nobody must use what
                        it hits */
    RELEASE_KEEPS_ID, /* likewise, and the record stays, so that its id is not used again */
};

/* Why a record is releasing, when not because something went wrong. */
#define RECORD_RELEASED "GivenBack"
#define RECORD_PODS_REJECTED "PodsRefused"

/* Which pods that have ended by themselves stay, for their logs. */
enum keep { KEEP_NOTHING, KEEP_LAUNCHERS, KEEP_FINISHED };
bool keeps_pod(const struct job_view *view, enum keep keep, const struct pod *pod);

/* Ends an instance: its pods go, but for those to keep; when it is quiet, its IPUs go back. Returns a
 * sentence about what is still to be done (owned), or NULL when nothing is left of it. */
char *instance_stop(const struct job_view *view, const struct instance_view *inst, enum keep keep,
                    enum release release, struct plan *plan);
/* What the seats of a record, as many as it has, say about all of them together. */
void tombstone_sum_up(const struct worker_view *seats, struct tombstone_view *tomb);
/* Gives back the IPUs of a record that is not used any more. Returns what it waits for (owned), or NULL. */
char *tombstone_decide(const struct job_view *view, const struct tombstone_view *tomb, enum release release,
                       struct plan *plan);

void instance_count_pods(const struct job_view *view, const struct instance_view *inst,
                         struct instance_result *ret);
