/* Decides about one instance of a job: its partition and its pods. Pure. */
#pragma once

#include "operator/reconcile/decide/instance/instance_result.h"

/* Plans the next step of an instance that should run. */
void instance_decide(const struct job_view *view, const struct instance_view *inst,
                     enum rollout_action rollout_action, struct plan *plan, struct instance_result *ret);
void instance_count_pods(const struct job_view *view, const struct instance_view *inst,
                         struct instance_result *ret);
