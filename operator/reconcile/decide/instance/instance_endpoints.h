/* The EndpointSlices behind the names of an instance's workers. Pure. */
#pragma once

#include "operator/reconcile/decide/instance/instance_result.h"
#include "operator/reconcile/decide/run/pod_summary.h"

/* True when the API server rejects the slice: the workers cannot find each other, and the result reports
 * that. */
bool decide_endpoints(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                      struct instance_result *ret);
/* Before pods are created the slices must be empty. True when they still list pods of an earlier run; the
 * plan then clears them. */
bool decide_endpoints_are_old(const struct job_view *view, const struct instance_view *inst,
                              struct plan *plan);
