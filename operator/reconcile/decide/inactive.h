/* Jobs that must not run: deleted, suspended, finished or invalid. Each function plans the remaining steps
 * and the status. Pure. */
#pragma once

#include "operator/reconcile/decide/run/partition_release.h"
#include "operator/reconcile/decide/model/verdict.h"

void decide_deletion(const struct job_view *view, const cJSON *status, struct plan *plan);
void decide_suspended(const struct job_view *view, const cJSON *status, struct plan *plan);
/* Releases what a finished job still holds, and deletes it after ttlSecondsAfterFinished. */
void decide_finished(const struct job_view *view, const cJSON *status, struct plan *plan);
/* Leaves the job, its status and its other pods to the operator that it names, and releases what this one
 * holds for it: an admin has given the job to that operator. */
void decide_of_other_operator(const struct job_view *view, struct plan *plan);
/* Creates nothing, and leaves what an earlier spec created as it is. */
void decide_invalid(const struct job_view *view, const cJSON *status, struct plan *plan);

/* Releases what earlier attempts, removed instances and deleted jobs have left. verdict: which instances
 * have ended, if the others are to run (again); NULL: none will run. *ret_text, if NULL, becomes what is
 * still to be done (owned). */
void decide_leftovers(const struct job_view *view, const struct job_verdict *verdict, enum keep keep,
                      struct plan *plan, char **ret_text);
