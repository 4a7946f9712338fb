/* The time limits of a job: how long it may run, how long its pods may be stuck, how long an interactive job
 * is held, and how long a finished one is kept. All count from times in the status, so that they survive a
 * restart of the operator. Pure. */
#pragma once

#include "operator/reconcile/decide/model/verdict.h"

/* When a limit is over, the verdict becomes that end and the plan is emptied: the end is reported first, and
 * its consequences follow from the status. Otherwise the job is reconciled again in time. Returns whether a
 * limit is over. */
bool lifetime_limit(const struct job_view *view, const cJSON *status, struct job_verdict *verdict,
                    struct plan *plan);
/* For a finished job: has ttlSecondsAfterFinished passed? */
bool lifetime_is_expired(const struct job_view *view, const cJSON *status, struct plan *plan);
