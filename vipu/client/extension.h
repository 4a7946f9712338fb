/* What our own extension service (vipu/wire/messages/extension.proto) tells beyond the public user API. Only
 * vipu-server has it: with any other controller extension_is_missing says so of the error. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "vipu/client/sync_client.h"
#include "vipu/model/inventory.h"

MUST_USE bool extension_allocations(struct vipu_sync_client *s, struct vipu_allocation_list *ret,
                                    struct err *err);
MUST_USE bool extension_clusters(struct vipu_sync_client *s, struct vipu_cluster_list *ret, struct err *err);
/* The room in a cluster or in an allocation; the other one may be NULL. */
MUST_USE bool extension_capacity(struct vipu_sync_client *s, const char *cluster_id,
                                 const char *allocation_id, struct vipu_capacity *ret, struct err *err);

bool extension_is_missing(const struct err *err);
