/* What this project's extension service (vipu/wire/messages/extension.proto) offers beyond the public user
 * API. Only vipu-server implements it: for any other controller extension_is_missing recognizes the error. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "vipu/client/sync_client.h"
#include "vipu/model/inventory.h"

MUST_USE bool extension_allocations(struct vipu_sync_client *s, struct vipu_allocation_list *ret,
                                    struct err *err);
MUST_USE bool extension_clusters(struct vipu_sync_client *s, struct vipu_cluster_list *ret, struct err *err);
/* The capacity of a cluster or of an allocation; the other argument may be NULL. */
MUST_USE bool extension_capacity(struct vipu_sync_client *s, const char *cluster_id,
                                 const char *allocation_id, struct vipu_capacity *ret, struct err *err);

bool extension_is_missing(const struct err *err);
