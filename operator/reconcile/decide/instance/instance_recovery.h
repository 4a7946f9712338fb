/* What cannot be used again: lost pods, interrupted starts, failed partitions. Pure. */
#pragma once

#include "operator/reconcile/decide/instance/instance_result.h"
#include "operator/reconcile/decide/run/pod_summary.h"

/* instance_trouble.c: what cannot be used again. */
void decide_lost(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                 struct plan *plan, struct instance_result *ret);
void decide_interrupted(const struct job_view *view, const struct instance_view *inst,
                        struct pod_summary *pods, struct plan *plan, struct instance_result *ret);
/* The API server rejected some of what this run needs, and that is missing. */
bool is_partly_rejected(const struct instance_view *inst, const struct pod_summary *pods);
void decide_rejected(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                     struct plan *plan, struct instance_result *ret);
/* Its pods run, or ran until just now, and the partition is in error or gone for longer than an instance has
 * to live with. */
bool partition_has_failed(const struct job_view *view, const struct instance_view *inst,
                          const struct pod_summary *pods, struct plan *plan);
void decide_partition_failed(const struct job_view *view, const struct instance_view *inst,
                             struct pod_summary *pods, struct plan *plan, struct instance_result *ret);
/* Has it not answered for longer than an instance has to live with? */
bool controller_is_unresponsive(const struct job_view *view, const struct instance_view *inst,
                                struct plan *plan);
void note_unresponsive_controller(const struct job_view *view, const struct instance_view *inst,
                                  struct plan *plan, struct instance_result *ret);
void decide_partition_lost(const struct job_view *view, const struct instance_view *inst,
                           struct pod_summary *pods, struct plan *plan, struct instance_result *ret);
