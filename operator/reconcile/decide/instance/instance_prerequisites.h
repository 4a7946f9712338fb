/* What the pods of a run need besides their partition: the Secret of agent keys, the job's Service with its
 * EndpointSlices, and the NetworkPolicy. Pure. */
#pragma once

#include "operator/reconcile/decide/instance/instance_result.h"
#include "operator/reconcile/decide/run/pod_summary.h"

/* Creates objects that all pods of a job share, if missing: the Service by which workers find each other,
 * and the NetworkPolicy of jobs with a launcher. Called before the pods are created, and later in case they
 * were deleted. Returns whether one is missing. */
bool decide_shared(const struct job_view *view, struct plan *plan);
/* Creates what else the pods of a run need. True when all of it exists. */
bool decide_prerequisites(const struct job_view *view, const struct instance_view *inst,
                          const struct pod_summary *pods, struct plan *plan);
/* Once a node has been preparing pods of a run for long: checks that the Secret of this run still exists. */
void probe_keys_secret(const struct job_view *view, const struct instance_view *inst,
                       const struct pod_summary *pods, struct plan *plan);
