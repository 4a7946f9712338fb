/* Why a pod does not start, is taken away, or failed, in one word of reasons.h. Kubernetes says it in many
 * places: reasons of waiting and terminated containers, conditions, the pod's own reason. Pure. */
#pragma once

#include "operator/api/observed/pod.h"

/* The condition PodScheduled when it is false; NULL: nothing holds the pod. */
const char *pod_reason_of_scheduling(const char *reason, const char *message);
/* A container's reason for waiting; NULL: it is an ordinary step. */
const char *pod_reason_of_waiting(const char *container_reason);
/* Who is taking the pod away: its condition DisruptionTarget; NULL: nobody. *ret_since_s: since when, or 0.
 */
const char *pod_reason_of_disruption(const cJSON *status, int64_t *ret_since_s);
/* Why a pod whose phase is Failed did so. own: the pod's own reason or NULL; container: the terminated reason
 * of the container that failed first, or NULL when none did. has_statuses: any container got as far as a
 * status. */
const char *pod_reason_of_failure(const char *own, const char *container, bool has_statuses,
                                  const char *disruption);
