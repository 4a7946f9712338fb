/* Workers that wait for their launcher, which begins and ends the run. Pure. */
#pragma once

#include "operator/reconcile/decide/instance/instance_result.h"
#include "operator/reconcile/decide/run/pod_summary.h"

/* False when there is nothing to wait for: what failed has failed. */
bool decide_awaits_end(const struct job_view *view, const struct pod_summary *pods, struct plan *plan,
                       struct instance_result *ret);
/* instance_launcher.c: its workers wait for the launcher, which begins and ends the run. */
void decide_launcher_done(const struct job_view *view, const struct instance_view *inst,
                          struct pod_summary *pods, struct plan *plan, struct instance_result *ret);
void decide_keys_lost(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                      struct plan *plan, struct instance_result *ret);
void decide_launch(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                   struct plan *plan, struct instance_result *ret);
