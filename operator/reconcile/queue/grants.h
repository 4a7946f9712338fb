/* The queue for IPUs: which claims are granted next, and which jobs are reconciled because of it. */
#pragma once

#include "operator/reconcile/state/reconciler_state.h"

/* Evaluates the queue, and reconciles the jobs whose answer has changed. */
void grants_refresh(struct reconciler *r);
/* The plan of the queue as it is, or with one more claim; owned by the caller. Changes nothing. */
struct claims_plan *grants_what_if(const struct reconciler *r, const struct claim *added);
/* Per controller: whether its nodes match a pod's nodeSelector (NULL: none). Owned by the caller. */
bool *grants_find_eligible(const struct reconciler *r, const cJSON *selector);
void grants_set(struct reconciler *r, const struct job *job, struct job_cache *cache,
                const struct plan *plan);
