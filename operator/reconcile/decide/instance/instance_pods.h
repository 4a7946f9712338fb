/* An instance all of whose pods exist, or have existed. Pure. */
#pragma once

#include "operator/reconcile/decide/instance/instance_result.h"
#include "operator/reconcile/decide/run/pod_summary.h"

/* An instance whose pods of this run all exist, or have existed. */
void decide_running(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                    struct plan *plan, struct instance_result *ret);
void decide_failed(const struct job_view *view, const struct instance_view *inst,
                   const struct pod_summary *pods, struct plan *plan, struct instance_result *ret);
/* The instance is restarted from the changed template, on its partition; that does not count as a restart. */
void decide_replaced(const struct job_view *view, const struct instance_view *inst,
                     enum rollout_action rollout_action, struct pod_summary *pods, struct plan *plan,
                     struct instance_result *ret);
void decide_pod_recreated(const struct job_view *view, const struct instance_view *inst,
                          struct pod_summary *pods, struct plan *plan, struct instance_result *ret);
/* It runs; or its program has ended while another container of a pod runs. */
void report_running(const struct instance_view *inst, const struct pod *with_running_sidecar,
                    struct instance_result *ret);
/* Reports a pod that waits for something, or that its node has been preparing for long, as the state of its
 * instance. */
void report_waiting_pod(const struct job_view *view, const struct pod_summary *pods, struct plan *plan,
                        struct instance_result *ret);
