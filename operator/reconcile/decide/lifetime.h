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
/* The shortest limit with which its instances got their IPUs, if the job has raised it since: it still
 * counts. Else 0. */
uint32_t lifetime_outgrown_s(const struct job_view *view);
/* From when a job with this limit and grace period first has IPUs, how long until it has released all of them
 * at the latest, if nodes respond; 0: no limit. */
int64_t lifetime_bound_s(uint32_t limit_s, uint32_t grace_s);
/* How long its pods may take to stop and the partition to be released, if nodes respond. */
int64_t lifetime_release_s(uint32_t grace_s);
/* For a finished job: has ttlSecondsAfterFinished passed? */
bool lifetime_is_expired(const struct job_view *view, const cJSON *status, struct plan *plan);
