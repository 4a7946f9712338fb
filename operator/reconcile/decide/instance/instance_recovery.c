#include "base/core/mem.h"
#include "operator/api/names.h"
#include "operator/reconcile/decide/instance/instance_recovery.h"
#include "operator/reconcile/decide/instance/instance_restart.h"
#include "operator/reconcile/decide/run/hold.h"
#include "operator/reconcile/decide/run/partition_release.h"
#include "operator/reconcile/decide/run/run.h"

/* Never reset it, never reuse the id: hold the partition for a while, then remove it. The removal is the
 * fence. */
void decide_lost(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                 struct plan *plan, struct instance_result *ret)
{
    const struct worker_view *lost = pods->lost;
    struct hold hold = hold_of_worker(inst->record, lost);
    AUTO(mem)
    char *name =
        lost->pod_name ? mem_strdup(lost->pod_name) : job_pod_name(view->job, inst->index, pods->lost_index);

    hold.pod = name;

    run_stop_pods(view, inst, plan);
    instance_set_result(ret, INSTANCE_HOLDING, "TerminationUnconfirmed", "Pod %s on node %s %s", name,
                        lost->node ? lost->node : "unknown",
                        lost->state == WORKER_PRESENT ? "has not terminated"
                                                      : "disappeared without terminating");
    if (hold_is_over(view, &inst->partition, &hold, plan) &&
        pods->may_be_running == 0) /* the others had their own grace period */
        attempt_begin_next(inst, "TerminationUnconfirmed", pods, plan);
}

/* The operator crashed between the creation of pods and the record that they exist. Whatever started
 * meanwhile is cut off by removing the partition; a new id is used. */
void decide_interrupted(const struct job_view *view, const struct instance_view *inst,
                        struct pod_summary *pods, struct plan *plan, struct instance_result *ret)
{
    run_stop_pods(view, inst, plan);
    instance_set_result(
        ret, INSTANCE_STARTING, "Recovering",
        "The operator restarted while it created pods; the instance starts again with a new partition");
    if (pods->may_be_running == 0)
        attempt_begin_next(inst, "Interrupted", pods, plan);
}

/* The partition existed when the first pods were created and has changed since: the state of those pods is
 * unknown. */
void decide_partition_lost(const struct job_view *view, const struct instance_view *inst,
                           struct pod_summary *pods, struct plan *plan, struct instance_result *ret)
{
    run_stop_pods(view, inst, plan);
    instance_set_result(ret, INSTANCE_STARTING, "PartitionLost",
                        "Partition %s changed or failed while pods were starting; the instance starts again "
                        "with a new partition",
                        inst->record->name);
    if (pods->may_be_running == 0 && !must_back_off(view, inst, plan))
        attempt_begin_next(inst, "PartitionLost", pods, plan);
}

bool is_partly_rejected(const struct instance_view *inst, const struct pod_summary *pods)
{
    const struct record *record = inst->record;
    bool misses_launcher = record->launched && inst->workers[record->workers].state == WORKER_NEVER_SEEN;

    return inst->is_rejected && (pods->never_seen || misses_launcher);
}

/* A pod whose name is taken may be this job's: created by a request whose answer was lost, and not seen yet.
 * Then its process knows the id. */
static const char *why_rejected(const struct job_view *view, const struct record *record)
{
    if (str_eq(view->create_reason, "NameConflict"))
        return "Interrupted";
    return record->restarts ? RECORD_PODS_REJECTED : RECORD_RELEASED;
}

/* The existing pods would wait for the others, or for what they lack, indefinitely, on IPUs that other jobs
 * could use. Restarts are counted in the record, so a record with restarts is kept. */
void decide_rejected(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                     struct plan *plan, struct instance_result *ret)
{
    bool is_over = run_is_over(view, inst, pods, plan);

    run_stop_pods(view, inst, plan);
    if (is_over)
        attempt_begin_next(inst, why_rejected(view, inst->record), pods, plan);
    instance_set_rejected(view, inst, is_over ? INSTANCE_WAITING : INSTANCE_STARTING, plan, ret);
}

bool is_preempted(const struct job_view *view, const struct instance_view *inst,
                  const struct pod_summary *pods)
{
    return inst->preemptor && pods->succeeded < view->job->spec.workers_per_instance;
}

/* The record says so before the first pod is stopped: else a process that takes over would start them again.
 */
void decide_preempted(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                      struct plan *plan, struct instance_result *ret)
{
    struct record *next;

    instance_set_result(ret, INSTANCE_RESTARTING, "IPUsPreempted",
                        "Preempted by job %s; instance %u releases its IPUs and returns to the queue",
                        inst->preemptor, inst->index);
    if (!inst->record->preemptor) {
        next = run_patch_record(inst, pods, plan);
        next->preemptor = mem_strdup(inst->preemptor);
        next->preemptions++;
        plan_note_restart(plan, next, "IPUsPreempted");
        return;
    }
    run_stop_pods(view, inst, plan);
    if (run_is_over(view, inst, pods, plan))
        attempt_begin_next(inst, "IPUsPreempted", pods, plan);
}

/* ---- while pods run ---- */

static bool is_broken(const struct partition_view *partition)
{
    return partition->state == PARTITION_ERROR || partition->state == PARTITION_ABSENT;
}

bool partition_has_failed(const struct job_view *view, const struct instance_view *inst,
                          const struct pod_summary *pods, struct plan *plan)
{
    int64_t until = inst->partition.since_ms + view->partition_failure_ms;

    if (!inst->record->started || pods->succeeded == view->job->spec.workers_per_instance ||
        !is_broken(&inst->partition) || inst->partition.busy)
        return false;
    return plan_is_due(plan, view->now_ms, until);
}

/* The next run resets or re-creates the partition, if it needs that, before its pods start. */
void decide_partition_failed(const struct job_view *view, const struct instance_view *inst,
                             struct pod_summary *pods, struct plan *plan, struct instance_result *ret)
{
    const struct failure failure = failure_of_partition(view, inst);
    AUTO(mem) char *text = failure_sentence(&failure);
    struct record *next;

    if (!wants_restart(&view->job->spec, inst->record, &failure)) {
        instance_set_result(ret, INSTANCE_FAILED, failure.reason, "%s", text);
        if (failure.pod_name)
            ret->failure = failure;
        return;
    }
    instance_set_result(ret, INSTANCE_RESTARTING, failure.reason,
                        "%s; restarting instance %u (restart %u of %u)", text, inst->index,
                        inst->record->restarts + 1, view->job->spec.backoff_limit);
    run_stop_pods(view, inst, plan);
    if (run_is_over(view, inst, pods, plan)) {
        next = run_begin_next(inst, pods, plan);
        next->restarts = inst->record->restarts + 1;
        plan_note_restart(plan, next, failure.reason);
    }
}

/* A short silence is not worth a report. */
bool controller_is_unresponsive(const struct job_view *view, const struct instance_view *inst,
                                struct plan *plan)
{
    return inst->controller_trouble &&
           plan_is_due(plan, view->now_ms, inst->controller_trouble_ms + view->partition_failure_ms);
}

/* The pods continue: they need no V-IPU request while they run. Report the controller only after
 * partition_failure_ms.
 */
void note_unresponsive_controller(const struct job_view *view, const struct instance_view *inst,
                                  struct plan *plan, struct instance_result *ret)
{
    ret->has_unresponsive_controller = ret->has_partition && controller_is_unresponsive(view, inst, plan);
}
