/* What cannot be used again: lost pods, interrupted starts, failed partitions. Pure. */
#pragma once

#include "operator/reconcile/decide/instance/instance_result.h"
#include "operator/reconcile/decide/run/pod_summary.h"

/* Each decide function plans the next step of the instance and fills *ret. */
void decide_lost(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                 struct plan *plan, struct instance_result *ret);
void decide_interrupted(const struct job_view *view, const struct instance_view *inst,
                        struct pod_summary *pods, struct plan *plan, struct instance_result *ret);
/* The API server rejected some of the objects that this run needs, and they are missing. */
bool is_partly_rejected(const struct instance_view *inst, const struct pod_summary *pods);
void decide_rejected(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                     struct plan *plan, struct instance_result *ret);
/* A job of higher priority gets its IPUs. */
bool is_preempted(const struct job_view *view, const struct instance_view *inst,
                  const struct pod_summary *pods);
void decide_preempted(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                      struct plan *plan, struct instance_result *ret);
/* Its pods run, or ran until just now, and the partition has been in error or missing for longer than an
 * instance tolerates. */
bool partition_has_failed(const struct job_view *view, const struct instance_view *inst,
                          const struct pod_summary *pods, struct plan *plan);
void decide_partition_failed(const struct job_view *view, const struct instance_view *inst,
                             struct pod_summary *pods, struct plan *plan, struct instance_result *ret);
/* True when its controller has been silent for longer than an instance tolerates. */
bool controller_is_unresponsive(const struct job_view *view, const struct instance_view *inst,
                                struct plan *plan);
void note_unresponsive_controller(const struct job_view *view, const struct instance_view *inst,
                                  struct plan *plan, struct instance_result *ret);
void decide_partition_lost(const struct job_view *view, const struct instance_view *inst,
                           struct pod_summary *pods, struct plan *plan, struct instance_result *ret);
