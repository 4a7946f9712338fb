/* An instance all of whose pods exist, or did. Pure. */
#pragma once

#include "operator/reconcile/decide/instance/instance_result.h"
#include "operator/reconcile/decide/run/pod_summary.h"

/* instance_pods.c: all pods of this run exist, or did. */
void decide_running(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                    struct plan *plan, struct instance_result *ret);
void decide_failed(const struct job_view *view, const struct instance_view *inst,
                   const struct pod_summary *pods, struct plan *plan, struct instance_result *ret);
/* It is started again from the changed template, on its partition; that counts as no restart. */
void decide_replaced(const struct job_view *view, const struct instance_view *inst,
                     enum rollout_action rollout_action, struct pod_summary *pods, struct plan *plan,
                     struct instance_result *ret);
void decide_pod_recreated(const struct job_view *view, const struct instance_view *inst,
                          struct pod_summary *pods, struct plan *plan, struct instance_result *ret);
/* It runs; or its program has ended, and another container of a pod has not. */
void report_running(const struct instance_view *inst, const struct pod *with_running_sidecar,
                    struct instance_result *ret);
/* A pod that waits for something, or that its node has long been preparing, speaks for its instance. */
void report_waiting_pod(const struct job_view *view, const struct pod_summary *pods, struct plan *plan,
                        struct instance_result *ret);
