/* The queue for IPUs: which claims are granted next, and which jobs are reconciled because of it. */
#pragma once

#include "operator/reconcile/state/reconciler_state.h"

/* Evaluates the queue, and reconciles the jobs whose answer has changed. */
void grants_refresh(struct reconciler *r);
void grants_set(struct reconciler *r, const struct job *job, struct job_cache *cache,
                const struct plan *plan);
