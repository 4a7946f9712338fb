/* Workers that wait for their launcher, which starts and ends the run. Pure. */
#pragma once

#include "operator/reconcile/decide/instance/instance_result.h"
#include "operator/reconcile/decide/run/pod_summary.h"

/* False when there is nothing to wait for, because an instance that has failed stays failed. */
bool decide_awaits_end(const struct job_view *view, const struct pod_summary *pods, struct plan *plan,
                       struct instance_result *ret);
/* Instances with a launcher, once their workers exist. */
void decide_launcher_done(const struct job_view *view, const struct instance_view *inst,
                          struct pod_summary *pods, struct plan *plan, struct instance_result *ret);
void decide_keys_lost(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                      struct plan *plan, struct instance_result *ret);
bool workers_are_of_other_version(const struct job_view *view, const struct instance_view *inst,
                                  const struct pod_summary *pods);
void decide_other_version(const struct job_view *view, const struct instance_view *inst,
                          struct pod_summary *pods, struct plan *plan, struct instance_result *ret);
void decide_launch(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                   struct plan *plan, struct instance_result *ret);
