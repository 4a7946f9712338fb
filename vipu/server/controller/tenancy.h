/* What one user of secure mode sees of the controller, and what he may ask of it: his allocations and what
 * lies in them. Everything else answers exactly as if it were not there. A user NULL is everybody, where
 * secure mode is off. Pure. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "vipu/model/cluster.h"
#include "vipu/server/controller/controller.h"
#include "vipu/server/controller/users.h"

/* NULL with ERR_NOT_FOUND. */
const struct controller_partition *tenancy_find(const struct controller *c, const struct user *user,
                                                const char *id, struct err *err);
/* ERR_NOT_FOUND when there is no such allocation for this user. */
MUST_USE bool tenancy_check_allocation(const struct controller *c, const struct user *user, const char *id,
                                       struct err *err);
/* An agent is seen by whoever has an allocation that it is part of. */
bool tenancy_sees_agent(const struct user *user, const struct vipu_cluster *cluster, size_t domain,
                        uint32_t machine);
/* As controller_create; without an allocation, the first of the user's that has room. Ids are one name space
 * for all users, so ERR_EXISTS may mean a partition that this user cannot see. */
MUST_USE bool tenancy_create(struct controller *c, const struct user *user,
                             const struct vipu_requirements *given, int64_t now_ms, struct strv *problems,
                             struct err *err);
