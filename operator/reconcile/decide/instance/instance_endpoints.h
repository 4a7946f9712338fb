/* The EndpointSlices behind the names of an instance's workers. Pure. */
#pragma once

#include "operator/reconcile/decide/instance/instance_result.h"
#include "operator/reconcile/decide/run/pod_summary.h"

/* True when the API server does not take it: nobody can find the others, and that is what there is to say. */
bool decide_endpoints(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                      struct instance_result *ret);
/* Before pods are made: nobody is behind them yet. True when an earlier run still is, and what mends that is
 * planned. */
bool decide_endpoints_are_old(const struct job_view *view, const struct instance_view *inst,
                              struct plan *plan);
