/* A run: the pods of an instance between one start and the next, on one partition. How it is stopped, and
 * what its record notes. Pure. */
#pragma once

#include "operator/reconcile/decide/run/pod_summary.h"

/* Ends a pod and keeps it with its log. One without a log is deleted; so is one that its node does not end,
 * which may be gone, or know no deadlines. */
void run_stop_pod(const struct job_view *view, const struct pod *pod, struct plan *plan);
void run_stop_pods(const struct job_view *view, const struct instance_view *inst,
                   struct plan *plan); /* pods that have not ended */
/* The record as it is to be, for the caller to change: one patch in a plan, so that none overtakes another.
 */
struct record *run_patch_record(const struct instance_view *inst, struct pod_summary *pods,
                                struct plan *plan);
/* Notes a disruption in the record, because the disrupted pod will be gone. True if that was necessary. */
bool run_note_disruption(const struct instance_view *inst, struct pod_summary *pods, struct plan *plan);
/* True when no pod of this run is running, or can start: a pod whose creation was never answered may still
 * appear, and is waited for. */
bool run_is_over(const struct job_view *view, const struct instance_view *inst,
                 const struct pod_summary *pods, struct plan *plan);
struct record *run_begin_next(const struct instance_view *inst, struct pod_summary *pods, struct plan *plan);
/* Removes a partition that cannot be used again; the instance gets another, under another id. */
void attempt_begin_next(const struct instance_view *inst, const char *reason, struct pod_summary *pods,
                        struct plan *plan);
