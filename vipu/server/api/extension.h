/* The answers of our extension service (vipu/wire/messages/extension.proto) as one user sees them: clusters
 * by the agents of his allocations, and the room in an allocation. A user NULL is everybody, where secure
 * mode is off. Pure; replies are appended to `out`, whose cap they obey. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/server/controller/controller.h"
#include "vipu/server/controller/users.h"
#include "vipu/wire/messages/extension.h"

void extension_put_allocations(const struct vipu_clusters *clusters, const struct user *user,
                               struct str *out);
void extension_put_clusters(const struct vipu_clusters *clusters, const struct user *user, struct str *out);
/* A cluster's room is that of the allocation that has its name and all of its agents. ERR_NOT_FOUND when the
 * user has no such allocation, ERR_INVALID when none is named. */
MUST_USE bool extension_put_capacity(const struct controller *c, const struct user *user,
                                     const struct wire_place *place, struct str *out, struct err *err);
