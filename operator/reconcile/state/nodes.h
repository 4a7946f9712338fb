/* What the watch of nodes knows about a node. */
#pragma once

#include "operator/reconcile/state/reconciler_state.h"

const struct node *node_seen(const struct reconciler *r, const char *name); /* NULL: the node is unknown */
uint64_t node_boot(const struct node *node); /* differs for each boot; 0: unknown */
/* worker: a pod on that node; NULL: it is not known when it started. */
bool node_is_fenced(const struct reconciler *r, const char *node, const struct worker_cache *worker);
