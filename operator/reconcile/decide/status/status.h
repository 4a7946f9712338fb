/* The status of a job as users see it: built from a verdict and the status before. Pure. Output only, with
 * one exception: which instances have ended, because their pods may be gone by the time somebody asks. */
#pragma once

#include "operator/api/indexset.h"
#include "operator/reconcile/decide/model/failure.h"
#include "operator/reconcile/decide/model/plan.h"
#include "operator/reconcile/decide/model/view.h"

#define STATUS_PARTITIONS_MAX 16
#define STATUS_MESSAGE_MAX 4096 /* bytes */
/* Numbers inside a sentence change at most this often; a changed state or reason is told at once. */
#define STATUS_DETAILS_EVERY_S 60
/* So long they wait for it: the first of many pods that starts says that the others do. */
#define STATUS_SETTLE_MS 10000

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
    bool has_unresponsive_controller; /* one that holds a partition has not answered for long */
    bool all_partitions;
    bool all_pods;                      /* every instance that has not ended runs */
    uint32_t active, succeeded, failed; /* pods */
    uint32_t restarts;
    struct indexset done, broken; /* instances that completed, that failed for good */
    bool has_begun;               /* some instance has its IPUs */
    char *stuck_at;               /* what pods that do not start wait for, owned; NULL: none are stuck */
    struct failure *failures;     /* that can still be seen, one of an instance; owned */
    size_t failure_count;
};

const char *job_state_name(enum job_state state);

bool verdict_has_ended(const struct job_verdict *verdict);
int64_t status_start_s(const cJSON *status); /* when it first had IPUs; 0: not yet */
/* Adds OP_STATUS to the plan when the job's status should change, and the events that tell it. */
void status_decide(const struct job_view *view, const cJSON *before, const struct job_verdict *verdict,
                   struct plan *plan);
void verdict_add_failure(struct job_verdict *verdict, const struct failure *failure);
void verdict_release(struct job_verdict *verdict);
