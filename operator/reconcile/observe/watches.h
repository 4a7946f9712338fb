/* Keeps the stores of jobs, pods, records, nodes and what jobs own, and enqueues the jobs that a change
 * concerns. */
#pragma once

#include "operator/reconcile/state/reconciler_state.h"

/* Keeps the stores and the caches of what was seen in them, and enqueues the jobs that a change concerns. */
void watches_start(struct reconciler *r);
void watches_stop(struct reconciler *r);
