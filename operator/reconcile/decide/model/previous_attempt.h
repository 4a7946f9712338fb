/* What the log of a restarted pod begins with: the pod has the name of the one before it, whose log is gone.
 * Pure. */
#pragma once

#include <stdint.h>

#include "base/doc/json.h"

#define PREVIOUS_ATTEMPT_MAX 4096

/* How the attempt before restart `restarts` of the instance ended, and the last lines of that pod then, from
 * the job's status: lines of text without control characters, at most PREVIOUS_ATTEMPT_MAX bytes. NULL: the
 * status does not tell. Owned by the caller. */
char *previous_attempt_report(const cJSON *status, uint32_t instance, uint32_t restarts, const char *pod);
