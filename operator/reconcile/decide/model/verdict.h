/* The result of a decision about the whole job, before it is written as its status. Pure. */
#pragma once

#include "operator/api/job/indexset.h"
#include "operator/reconcile/decide/model/failure.h"
#include "operator/reconcile/decide/model/plan.h"
#include "operator/reconcile/decide/model/view.h"

/* The message of a completed job. Graphcore's operator printed it, and scripts wait for it: never change it.
 */
#define ALL_INSTANCES_DONE "All instances done"

enum job_state {
    JOB_PENDING,
    JOB_STARTING,
    JOB_RUNNING,
    JOB_RESTARTING,
    JOB_SUSPENDED,
    JOB_COMPLETED,
    JOB_FAILED,
    JOB_TERMINATING,
};

struct job_verdict {
    enum job_state state;
    const char *reason;            /* CamelCase; borrowed */
    char *message;                 /* owned */
    const struct claim_wait *wait; /* of the first instance that waits for IPUs; borrowed, or NULL */
    uint32_t running;              /* instances */
    uint32_t with_partition;
    bool has_unresponsive_controller; /* the controller of a running instance has been silent for long */
    bool all_partitions;
    bool all_pods; /* every instance that has not finished runs, and its pods are ready */
    uint32_t active, succeeded, failed; /* pods */
    uint32_t unready;                   /* pods that run and are not ready */
    const struct pod *unready_pod;      /* the first of them; borrowed, or NULL */
    uint32_t restarts, preemptions;
    struct indexset done, broken; /* instances that succeeded, that failed finally */
    bool has_started;             /* some instance has its IPUs */
    char *stuck_at;               /* why pods do not start, owned; NULL: none is stuck */
    struct failure *failures;     /* of pods that still exist, one for each instance; owned */
    size_t failure_count;
};

const char *job_state_name(enum job_state state);

bool verdict_has_ended(const struct job_verdict *verdict);
int64_t status_start_s(const cJSON *status); /* when it first had IPUs; 0: not yet */
void verdict_add_failure(struct job_verdict *verdict, const struct failure *failure);
/* From the status: which instances have finished, and how often any was restarted. */
void verdict_read_ended(const cJSON *status, struct job_verdict *verdict);
/* Adds the API server's rejections of this plan to the message. Returns whether there are any. */
bool verdict_note_rejected_write(const struct job_view *view, const struct plan *plan,
                                 struct job_verdict *verdict);
void verdict_release(struct job_verdict *verdict);
