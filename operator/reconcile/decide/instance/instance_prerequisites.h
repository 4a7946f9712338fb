/* What the pods of a start need besides their partition: the Secret of agent keys, the job's Service with its
 * EndpointSlices, and the NetworkPolicy. Pure. */
#pragma once

#include "operator/reconcile/decide/instance/instance_result.h"
#include "operator/reconcile/decide/run/pod_summary.h"

/* What all pods of a job share - the Service by which workers find each other, the NetworkPolicy of those
 * with a launcher - is made when it is not there: before the pods, and again when somebody deletes it.
 * Returns whether something is missing. */
bool decide_shared(const struct job_view *view, struct plan *plan);
/* What the pods of a start find there besides their partition. True when it is there. */
bool decide_prerequisites(const struct job_view *view, const struct instance_view *inst,
                          const struct pod_summary *pods, struct plan *plan);
/* While a node prepares pods of it, for long: is the Secret of this start still there? */
void probe_keys_secret(const struct job_view *view, const struct instance_view *inst,
                       const struct pod_summary *pods, struct plan *plan);
