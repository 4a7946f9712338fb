/* Jobs that must not run: deleted, suspended, finished or invalid. Each function plans what is still to be
 * done, and the status. Pure. */
#pragma once

#include "operator/reconcile/decide/run/partition_release.h"
#include "operator/reconcile/decide/model/verdict.h"

void decide_deletion(const struct job_view *view, const cJSON *status, struct plan *plan);
void decide_suspended(const struct job_view *view, const cJSON *status, struct plan *plan);
/* Releases what a finished job still holds, and deletes it after ttlSecondsAfterFinished. */
void decide_finished(const struct job_view *view, const cJSON *status, struct plan *plan);
/* Nothing is created, and nothing that an earlier spec made is touched. */
void decide_invalid(const struct job_view *view, const cJSON *status, struct plan *plan);

/* What is left of earlier attempts, removed instances and jobs that are gone. going_on: which instances have
 * ended, when the others are to run (again); NULL: nothing will. *ret_text, if NULL, becomes what is still to
 * be done (owned). */
void decide_leftovers(const struct job_view *view, const struct job_verdict *going_on, enum keep keep,
                      struct plan *plan, char **ret_text);
