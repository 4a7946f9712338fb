/* The replies of the extension service (vipu/wire/messages/extension.proto) for one user: clusters by the
 * agents of the user's allocations, and the capacity of an allocation. A NULL user sees everything (secure
 * mode is off). Pure; replies are appended to `out`, whose limit they obey. */
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
/* A cluster's capacity is that of the allocation that has its name and all of its agents. ERR_NOT_FOUND if
 * the user has no such allocation, ERR_INVALID if none is named. */
MUST_USE bool extension_put_capacity(const struct controller *c, const struct user *user,
                                     const struct wire_place *place, struct str *out, struct err *err);
