/* The commands about allocations and clusters. The public API has no call for them; if a controller lacks
 * the extension service, lists fall back on the names in its partitions, and a remark says so. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "vipu/cli/commands/context.h"
#include "vipu/model/inventory.h"

MUST_USE bool inventory_list_allocations(struct command_context *c, struct err *err);
MUST_USE bool inventory_list_clusters(struct command_context *c, struct err *err);
MUST_USE bool inventory_get_allocation(struct command_context *c, struct err *err);
MUST_USE bool inventory_get_cluster(struct command_context *c, struct err *err);

/* With the fall-back; `ret_partial` says whether it was needed. */
MUST_USE bool inventory_allocations(struct vipu_sync_client *client, struct vipu_allocation_list *ret,
                                    bool *ret_partial, struct err *err);
MUST_USE bool inventory_clusters(struct vipu_sync_client *client, struct vipu_cluster_list *ret,
                                 bool *ret_partial, struct err *err);
/* The cluster of this id, or else of this allocation; borrowed from `ret_list`. NULL without an error: the
 * controller has no such cluster or does not implement the call. */
MUST_USE bool inventory_cluster_of(struct vipu_sync_client *client, const char *id, const char *allocation_id,
                                   struct vipu_cluster_list *ret_list, const struct vipu_cluster_entry **ret,
                                   struct err *err);
