/* Performs plans: sends their requests, and ends with reconciler_execution_done. */
#pragma once

#include "operator/reconcile/state/reconciler_state.h"

/* Performs the plan, which is moved in, and ends with reconciler_execution_done. */
void act(struct reconciler *r, const char *key, const struct job *job, struct job_cache *cache,
         struct plan *plan_take);
void act_confirm_gone(struct reconciler *r, const char *key, const char *uid);
void act_cancel_all(struct reconciler *r);
