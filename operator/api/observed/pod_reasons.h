/* Why a pod does not start, is disrupted, or failed: one reason of reasons.h. Kubernetes reports it in many
 * places: reasons of waiting and terminated containers, conditions, the pod's own reason. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/doc/json.h"

/* For the condition PodScheduled when it is false; NULL: no problem. */
const char *pod_reason_of_scheduling(const char *reason, const char *message);
/* For a container's reason for waiting; NULL: it is a normal step. */
const char *pod_reason_of_waiting(const char *container_reason);
/* What disrupts the pod: its condition DisruptionTarget; NULL: nothing. *ret_since_s: since when, or 0. */
const char *pod_reason_of_disruption(const cJSON *status, int64_t *ret_since_s);
/* Why a pod whose phase is Failed did so. own: the pod's own reason or NULL; container: the terminated
 * reason of the container that failed first, or NULL if none did. has_statuses: any container has a status.
 */
const char *pod_reason_of_failure(const char *own, const char *container, bool has_statuses,
                                  const char *disruption);
