/* The result of one decision about an instance, and its wording. Pure. */
#pragma once

#include "operator/reconcile/decide/model/failure.h"
#include "operator/reconcile/decide/model/plan.h"
#include "operator/reconcile/decide/model/view.h"

/* A partition, and even its pods, often exist before a user could read that they are being created. */
#define REPORT_AFTER_MS 1000
#define REPORT_AFTER_BUSY_MS 10000

enum instance_phase {
    INSTANCE_WAITING,    /* for IPUs, or for a controller */
    INSTANCE_STARTING,   /* partition or pods are being created */
    INSTANCE_RUNNING,    /* all workers run */
    INSTANCE_ENDING,     /* its result is known, and some of its pods still run */
    INSTANCE_RESTARTING, /* its pods are being stopped, to be started again */
    INSTANCE_HOLDING,    /* a process may still use IPUs, which cannot be released yet */
    INSTANCE_DONE,
    INSTANCE_FAILED,
};

struct instance_result {
    enum instance_phase phase;
    const char *reason;            /* CamelCase constant, or borrowed from the view */
    char *text;                    /* a sentence without period, owned; NULL: nothing to report */
    const struct claim_wait *wait; /* WAITING in the queue for IPUs: the numbers behind the text; else NULL */
    bool has_partition;            /* active */
    bool has_unresponsive_controller;   /* it has been silent for long; the instance does not need it now */
    uint32_t active, succeeded, failed; /* pods */
    uint32_t unready;                   /* pods that run and are not ready */
    const struct pod *unready_pod;      /* one of them; borrowed, or NULL */
    struct failure failure;             /* the first, for status; reason NULL: none */
    bool is_unanswered;                 /* a request is in flight that is answered within milliseconds */
    bool is_step;                       /* STARTING: a transient step that need not be reported yet */
    bool is_fatal;                      /* FAILED for a reason that only another spec can resolve */
    bool is_stuck; /* pods wait for something that may never come: startDeadlineSeconds applies */
};

/* Is it to be restarted from a changed template? */
enum rollout_action {
    ROLLOUT_NONE,
    ROLLOUT_STOP, /* wait until the others have stopped too */
    ROLLOUT_REPLACE,
};

void instance_set_result(struct instance_result *ret, enum instance_phase phase, const char *reason,
                         const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* The API server rejects objects that an instance needs to start. The message stays until it accepts them
 * and does not change with every retry; IPUs that are released within a moment are not reported. */
bool instance_was_rejected(const struct job_view *view);
void instance_set_rejected(const struct job_view *view, const struct instance_view *inst,
                           enum instance_phase phase, struct plan *plan, struct instance_result *ret);

/* Reports a step that may be over before a user could read of it; while many jobs change, only a step that
 * lasts some seconds. */
void instance_note_step(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                        struct instance_result *ret);

/* Lets instances start again, on the same or another partition, without counting a failure: at once the
 * first times, then with a delay, so that they do not loop. True when the next start has to wait; then the
 * job is reconciled again in time. */
bool must_back_off(const struct job_view *view, const struct instance_view *inst, struct plan *plan);
