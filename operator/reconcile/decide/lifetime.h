/* The clocks of a job: how long it may run, how long its pods may be stuck, how long an interactive job is
 * held, and how long a finished one is kept. They all count from times that stand in status, so that they
 * survive the operator. Pure. */
#pragma once

#include "operator/reconcile/decide/model/verdict.h"

/* The job goes on by itself but for its clocks. When one of them is over, the verdict becomes that end and
 * the plan is emptied: the end is told first, and the rest follows from it. Otherwise the plan looks again in
 * time. Returns whether it is over. */
bool lifetime_limit(const struct job_view *view, const cJSON *status, struct job_verdict *verdict,
                    struct plan *plan);
/* A finished job: has ttlSecondsAfterFinished passed? */
bool lifetime_is_expired(const struct job_view *view, const cJSON *status, struct plan *plan);
