/* How a job has ended, by its status: the conditions Completed and Failed, as in Kubernetes. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/doc/json.h"

/* The condition of that type; NULL if the status has none. */
const cJSON *status_condition(const cJSON *status, const char *type);
bool status_is_finished(const cJSON *status);
/* Failed for a reason that a change of the spec may fix. */
bool status_is_rejection(const cJSON *status);
/* Failed for a reason that a change of the spec may fix, and the spec has changed since. An InvalidSpec is
 * always validated again. */
bool status_is_outdated_rejection(const cJSON *status, int64_t generation);
