/* What a kubelet writes into a pod's status. */
#pragma once

#include "base/doc/json.h"

void pod_status_waits(cJSON *pod, const char *reason, const char *message);
void pod_status_unschedulable(cJSON *pod);
void pod_status_runs(cJSON *pod, unsigned address);
void pod_status_disrupted(cJSON *pod, const char *reason); /* the pod is about to be removed */
void pod_status_ended(cJSON *pod, int exit_code);
void pod_status_past_deadline(cJSON *pod); /* once more, after the deadline */
void pod_status_let_go(cJSON *pod);        /* it is deleted without any more grace */
