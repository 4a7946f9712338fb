/* Which partitions block one that does not fit: a clause for the error message, so that the user knows what
 * to wait for or to remove. Pure. */
#pragma once

#include "base/core/err.h"
#include "vipu/model/partition.h"
#include "vipu/server/controller/controller.h"
#include "vipu/server/controller/users.h"

/* Adds the cheapest set of partitions without which `requirements` would fit to an ERR_BUSY. Adds nothing if
 * there is none, or if one of them belongs to another user (NULL: secure mode is off). */
void blockers_explain(const struct controller *c, const struct user *user,
                      const struct vipu_requirements *given, struct err *err);
