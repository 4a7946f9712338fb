/* The parts of instance_decide: what to do before an instance has a partition, until its pods exist, while
 * they run, and when something is amiss. Each looks at the same view and crew and adds to the same plan. */
#pragma once

#include "operator/reconcile/decide/run/pod_summary.h"
#include "operator/reconcile/decide/instance/instance.h"

/* A partition is often there, and its pods too, before anybody could have read that they are being made. */
#define REPORT_AFTER_MS 1000
#define REPORT_AFTER_BUSY_MS 10000

void instance_set_result(struct instance_result *ret, enum instance_phase phase, const char *reason,
                         const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* The API server does not take all that an instance needs to start. What there is to say stands until it
 * does, and does not come and go with every new try; that IPUs go back within a moment is no news. */
bool instance_was_rejected(const struct job_view *view);
void instance_set_rejected(const struct job_view *view, const struct instance_view *inst,
                           enum instance_phase phase, struct plan *plan, struct instance_result *ret);

/* A step that may be over before anybody could read of it, or, while much is going on, within some seconds.
 */
void instance_note_step(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                        struct instance_result *ret);

/* Instances begin again, on another partition or the same, without a failure that counts: at once the first
 * times, and not in circles. True when the next beginning has to wait; then the plan looks again. */
bool must_back_off(const struct job_view *view, const struct instance_view *inst, struct plan *plan);

/* instance_partition.c */
void decide_without_record(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                           struct instance_result *ret);
/* Its id is somebody else's. Once pods ran on a partition it is ours, whatever became of it. */
bool has_foreign_partition(const struct instance_view *inst, const struct pod_summary *pods);
void decide_foreign(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                    struct instance_result *ret);
/* Some pods of this run do not exist yet. */
void decide_starting(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                     struct plan *plan, struct instance_result *ret);

/* instance_pods.c: all pods of this run exist, or did. */
void decide_running(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                    struct plan *plan, struct instance_result *ret);
bool wants_restart(const struct job_spec *spec, const struct record *record, const struct failure *failure);
void decide_restart(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                    int64_t ended_s, struct plan *plan, struct instance_result *ret);
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

/* instance_launcher.c: its workers wait for the launcher, which begins and ends the run. */
/* Is it still so soon after that moment (0: never)? Then the plan looks again when it is not. */
bool plan_is_within(const struct job_view *view, int64_t from_s, int64_t length_s, struct plan *plan);
/* False when there is nothing to wait for: what failed has failed. */
bool decide_awaits_end(const struct job_view *view, const struct pod_summary *pods, struct plan *plan,
                       struct instance_result *ret);
void decide_launcher_done(const struct job_view *view, const struct instance_view *inst,
                          struct pod_summary *pods, struct plan *plan, struct instance_result *ret);
/* While a node prepares pods of it, for long: is the Secret of this start still there? */
void probe_keys_secret(const struct job_view *view, const struct instance_view *inst,
                       const struct pod_summary *pods, struct plan *plan);
void decide_keys_lost(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                      struct plan *plan, struct instance_result *ret);
void decide_launch(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                   struct plan *plan, struct instance_result *ret);
/* What the pods of a start find there besides their partition. True when it is there. */
bool decide_prerequisites(const struct job_view *view, const struct instance_view *inst,
                          const struct pod_summary *pods, struct plan *plan);

/* instance_names.c: who is behind the names by which its workers meet. */
/* True when the API server does not take it: nobody can find the others, and that is what there is to say. */
bool decide_endpoints(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                      struct instance_result *ret);
/* Before pods are made: nobody is behind them yet. True when an earlier run still is, and what mends that is
 * planned. */
bool decide_endpoints_are_old(const struct job_view *view, const struct instance_view *inst,
                              struct plan *plan);

/* instance_trouble.c: what cannot be used again. */
void decide_lost(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                 struct plan *plan, struct instance_result *ret);
void decide_interrupted(const struct job_view *view, const struct instance_view *inst,
                        struct pod_summary *pods, struct plan *plan, struct instance_result *ret);
/* Some of what this run needs was refused, and is missing. */
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
