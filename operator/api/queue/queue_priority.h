/* Which PriorityClasses order the queue for IPUs. Kubernetes lets anybody who may create pods use the classes
 * of the system where no quota forbids it, so they never count. Pure. */
#pragma once

#include "base/core/str.h"
#include "base/doc/json.h"

/* In the list of classes: all that are not the system's. */
#define QUEUE_PRIORITY_ALL "*"

bool queue_priority_is_of_system(const char *class_name);
/* classes: those that count; NULL: all that are not the system's. */
bool queue_priority_counts(const struct strv *classes, const char *class_name);
/* Of a pod as the API server made it: its admission writes the name and the value of the class into the spec.
 * 0 if the class does not count. */
int32_t queue_priority_of_pod(const struct strv *classes, const cJSON *pod);
/* Whether its class, which counts, lets it preempt. Admission writes the class's preemptionPolicy there, too.
 */
bool queue_priority_preempts(const struct strv *classes, const cJSON *pod);
