/* An instance until its pods exist: its place in the queue, its record, its partition. Pure. */
#pragma once

#include "operator/reconcile/decide/instance/instance_result.h"
#include "operator/reconcile/decide/run/pod_summary.h"

/* An instance without pods on a usable partition. */
void decide_without_record(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                           struct instance_result *ret);
/* True when its id belongs to another owner. Once pods ran on a partition it is the job's, whatever its
 * state is now. */
bool has_foreign_partition(const struct instance_view *inst, const struct pod_summary *pods);
void decide_foreign(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                    struct instance_result *ret);
/* Some pods of this run do not exist yet. */
void decide_starting(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                     struct plan *plan, struct instance_result *ret);
