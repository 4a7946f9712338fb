/* What an instance comes to in one decision, and how that is put into words. Pure. */
#pragma once

#include "operator/reconcile/decide/model/failure.h"
#include "operator/reconcile/decide/model/plan.h"
#include "operator/reconcile/decide/model/view.h"

/* A partition is often there, and its pods too, before anybody could have read that they are being made. */
#define REPORT_AFTER_MS 1000
#define REPORT_AFTER_BUSY_MS 10000

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
    char *text;                    /* a sentence without period, owned; NULL: nothing to report */
    const struct claim_wait *wait; /* WAITING in the queue for IPUs: the numbers behind the text; else NULL */
    bool has_partition;            /* active */
    bool has_unresponsive_controller;   /* it has not answered for long; the instance does not need it now */
    uint32_t active, succeeded, failed; /* pods */
    struct failure failure;             /* the first, for status; reason NULL: none */
    bool is_unanswered;                 /* a question is under way that is answered within milliseconds */
    bool is_step;                       /* STARTING: a transient step that need not be reported yet */
    bool is_fatal;                      /* FAILED for a reason that only another spec can mend */
    bool is_stuck; /* pods wait for something that may never come: startDeadlineSeconds counts */
};

/* Is it to be started again from a changed template? */
enum rollout_action {
    ROLLOUT_NONE,
    ROLLOUT_STOP, /* not before the others have stopped too */
    ROLLOUT_REPLACE,
};

void instance_set_result(struct instance_result *ret, enum instance_phase phase, const char *reason,
                         const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* The API server does not take all that an instance needs to start. What there is to say stands until it
 * does, and does not come and go with every new try; that IPUs go back within a moment is no news. */
bool instance_was_rejected(const struct job_view *view);
void instance_set_rejected(const struct job_view *view, const struct instance_view *inst,
                           enum instance_phase phase, struct plan *plan, struct instance_result *ret);

/* A step that may be over before anybody could read of it, or, while much is going on, within some seconds.
 */
void instance_note_step(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                        struct instance_result *ret);

/* Instances begin again, on another partition or the same, without a failure that counts: at once the first
 * times, and not in circles. True when the next beginning has to wait; then the plan looks again. */
bool must_back_off(const struct job_view *view, const struct instance_view *inst, struct plan *plan);
