/* Restarts an instance according to its restart policy, with a growing delay. Pure. */
#pragma once

#include "operator/reconcile/decide/instance/instance_result.h"
#include "operator/reconcile/decide/run/pod_summary.h"

bool wants_restart(const struct job_spec *spec, const struct record *record, const struct failure *failure);
void decide_restart(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                    int64_t ended_s, struct plan *plan, struct instance_result *ret);
