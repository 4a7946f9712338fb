/* The queue for IPUs: which claims are granted next, and which jobs have to be told so. */
#pragma once

#include "operator/reconcile/state/reconciler_state.h"

/* grants.c: asks the queue for IPUs who may go next, and wakes whose answer has changed. */
void grants_refresh(struct reconciler *r);
void grants_set(struct reconciler *r, struct job_cache *cache, const struct plan *plan);
cJSON *grants_print(const struct reconciler *r); /* the whole line, who goes first first; yours */
