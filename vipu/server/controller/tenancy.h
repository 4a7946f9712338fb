/* What one user of secure mode can see and use: their allocations and the partitions in them, or the one
 * partition whose own user it is. Everything else is reported as not found. A NULL user means that secure
 * mode is off. Pure. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "vipu/model/cluster.h"
#include "vipu/server/controller/controller.h"
#include "vipu/server/controller/users.h"

/* NULL with ERR_NOT_FOUND. */
const struct controller_partition *tenancy_find(const struct controller *c, const struct user *user,
                                                const char *id, struct err *err);
/* ERR_NOT_FOUND if this user has no such allocation. */
MUST_USE bool tenancy_check_allocation(const struct controller *c, const struct user *user, const char *id,
                                       struct err *err);
/* A user sees the agents of their allocations, a partition's own user those of the partition. */
bool tenancy_sees_agent(const struct controller *c, const struct user *user,
                        const struct vipu_cluster *cluster, size_t domain, uint32_t machine);
/* ERR_DENIED for a partition's own user: its id and its IPUs are its maker's. */
MUST_USE bool tenancy_check_owner(const struct user *user, struct err *err);
/* Like controller_create; without an allocation, the first of the user's with enough free IPUs. All users
 * share one name space of ids, so ERR_EXISTS may mean a partition that this user cannot see. */
MUST_USE bool tenancy_create(struct controller *c, const struct user *user,
                             const struct vipu_requirements *given, int64_t now_ms, struct strv *problems,
                             struct err *err);
