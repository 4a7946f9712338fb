/* What the status of a job says about its end: the conditions Completed and Failed, as Kubernetes keeps them.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/doc/json.h"

/* The condition of that type; NULL when the status has none. */
const cJSON *status_condition(const cJSON *status, const char *type);
bool status_is_finished(const cJSON *status);
/* Failed for a reason that another spec may mend. */
bool status_is_rejection(const cJSON *status);
/* Failed for a reason that another spec may mend, and the spec has changed since. An InvalidSpec is judged
 * anew every time. */
bool status_is_outdated_rejection(const cJSON *status, int64_t generation);
