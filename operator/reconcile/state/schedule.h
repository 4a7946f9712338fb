/* When the next job is reconciled: the keys that are due, and the timer that wakes the reconciler for them.
 */
#pragma once

#include "operator/reconcile/state/reconciler_state.h"

/* reconciler.c */
/* Starts the timer for the next key that is due. */
void reconciler_wake(struct reconciler *r);
void reconciler_enqueue(struct reconciler *r, const char *key);
/* A claim, a controller's free IPUs or the nodes have changed. */
void reconciler_claims_changed(struct reconciler *r);
/* Every request of this plan has been answered. */
void reconciler_execution_done(struct reconciler *r, const char *key, bool failed, int64_t again_at_ms);
