#include "operator/reconcile/decide/instance/instance.h"

#include "base/core/mem.h"
#include "operator/api/reasons.h"
#include "operator/reconcile/decide/instance/instance_launcher.h"
#include "operator/reconcile/decide/instance/instance_partition.h"
#include "operator/reconcile/decide/instance/instance_pods.h"
#include "operator/reconcile/decide/instance/instance_recovery.h"
#include "operator/reconcile/decide/instance/instance_restart.h"
#include "operator/reconcile/decide/run/hold.h"
#include "operator/reconcile/decide/run/run.h"

static void count_into_result(const struct pod_summary *pods, struct instance_result *ret)
{
    ret->active = pods->running;
    ret->succeeded = pods->succeeded;
    ret->failed = pods->failed;
    ret->unready = pods->unready;
    ret->unready_pod = pods->unready_pod;
    ret->failure = pods->failure;
}

void instance_count_pods(const struct job_view *view, const struct instance_view *inst,
                         struct instance_result *ret)
{
    struct pod_summary pods = {0};

    pod_summary_of(view, inst, &pods);
    for (size_t i = 0; i < inst->stale_count; i++) { /* of an ended instance whose record is gone */
        if (inst->stale_pods[i]->worker >= view->job->spec.workers_per_instance ||
            inst->stale_pods[i]->stopped_while_running)
            continue;
        pods.succeeded += inst->stale_pods[i]->phase == POD_SUCCEEDED;
        pods.failed += inst->stale_pods[i]->phase == POD_FAILED;
    }
    count_into_result(&pods, ret);
}

static int64_t when_failed_s(const struct failure *failure)
{
    bool has_ended = failure->pod && failure->pod->finished_s;

    return has_ended ? failure->pod->finished_s : failure->at_s;
}

/* Its IPUs serve nobody as long as its pods cannot start: they are offered to the jobs in the queue, and
 * given up when one of those is served with them. A pod that has begun may have done work that would be lost.
 */
static void offer_ipus(const struct job_view *view, const struct instance_view *inst,
                       const struct pod_summary *pods, struct plan *plan, const struct instance_result *ret)
{
    int64_t since_ms = inst->offered_since_ms ? inst->offered_since_ms : view->now_ms;
    bool is_due;
    struct op *op;

    if (!ret->is_stuck || pods->begun)
        return;
    is_due = plan_is_due(plan, view->now_ms, since_ms + view->requeue_ms);
    op = plan_add(plan, OP_OFFER);
    op->name = mem_strdup(inst->record->name);
    op->reason = mem_strdup(ret->reason);
    op->text = mem_strdup(ret->text);
    op->ready = is_due;
    op->now = is_due && inst->is_wanted;
}

/* All of its pods exist. */
static void decide_with_pods(const struct job_view *view, const struct instance_view *inst,
                             struct pod_summary *pods, struct plan *plan, struct instance_result *ret)
{
    if (view->job->spec.has_launcher)
        decide_launch(view, inst, pods, plan, ret);
    else
        decide_running(view, inst, pods, plan, ret);
    offer_ipus(view, inst, pods, plan, ret);
}

static void decide_started(const struct job_view *view, const struct instance_view *inst,
                           enum rollout_action rollout_action, struct pod_summary *pods, struct plan *plan,
                           struct instance_result *ret)
{
    bool failed = pods->failure.reason != NULL;
    bool restarts = failed && wants_restart(&view->job->spec, inst->record, &pods->for_policy);
    bool is_being_stopped = inst->record->preemptor && is_preempted(view, inst, pods);
    bool may_have_started_unseen = pods->never_seen && !inst->partition.quiet;

    if (pods->launcher_done)
        decide_launcher_done(view, inst, pods, plan, ret);
    else if (failed && !is_being_stopped && decide_awaits_end(view, pods, plan, ret))
        return;
    else if (failed && !is_being_stopped && !restarts)
        decide_failed(view, inst, pods, plan, ret);
    else if (has_foreign_partition(inst, pods))
        decide_foreign(view, inst, plan, ret);
    else if (pods->lost)
        decide_lost(view, inst, pods, plan, ret);
    else if (may_have_started_unseen &&
             (inst->partition.state == PARTITION_ACTIVE || inst->partition.state == PARTITION_ERROR))
        decide_interrupted(view, inst, pods, plan, ret);
    else if (may_have_started_unseen)
        decide_starting(view, inst, pods, plan, ret);
    else if (is_preempted(view, inst, pods))
        decide_preempted(view, inst, pods, plan, ret);
    else if (inst->is_given_up || is_partly_rejected(inst, pods))
        decide_rejected(view, inst, pods, plan, ret);
    else if (rollout_action != ROLLOUT_NONE && pods->succeeded < view->job->spec.workers_per_instance)
        decide_replaced(view, inst, rollout_action, pods, plan, ret);
    else if (failed)
        decide_restart(view, inst, pods, when_failed_s(&pods->failure), plan, ret);
    else if (workers_are_of_other_version(view, inst, pods))
        decide_other_version(view, inst, pods, plan, ret);
    else if (partition_has_failed(view, inst, pods, plan))
        decide_partition_failed(view, inst, pods, plan, ret);
    else if (inst->keys == KEYS_LOST)
        decide_keys_lost(view, inst, pods, plan, ret);
    else if (pods->gone)
        decide_pod_recreated(view, inst, pods, plan, ret);
    else if (pods->never_seen)
        decide_starting(view, inst, pods, plan, ret);
    else
        decide_with_pods(view, inst, pods, plan, ret);
}

void instance_decide(const struct job_view *view, const struct instance_view *inst,
                     enum rollout_action rollout_action, struct plan *plan, struct instance_result *ret)
{
    struct pod_summary pods = {0};

    *ret = (struct instance_result){0};
    if (!inst->record) {
        decide_without_record(view, inst, plan, ret);
        return;
    }
    pod_summary_of(view, inst, &pods);
    count_into_result(&pods, ret);
    /* After a restart of the operator the controllers' first list is yet to come; until then what was
     * started counts as running. */
    ret->has_partition = inst->partition.state == PARTITION_ACTIVE ||
                         (inst->partition.state == PARTITION_UNKNOWN && inst->record->started);
    if (run_note_disruption(inst, &pods, plan)) {
        instance_set_result(ret, INSTANCE_ENDING, "Finishing", "A pod of instance %u is being evicted",
                            inst->index);
        ret->is_unanswered = true; /* what follows from it is reported after the record has been written */
        if (view->write_rejected)
            ret->failure = (struct failure){0};
    } else {
        decide_started(view, inst, rollout_action, &pods, plan, ret);
    }
    note_unresponsive_controller(view, inst, plan, ret);
    if (!inst->record->started && !pods.never_seen && !pods.record_changed)
        run_patch_record(inst, &pods, plan)->started = true;
    if (pods.terminating) {
        struct hold hold = hold_of_worker(inst->record, pods.terminating);

        (void)hold_is_over(view, &inst->partition, &hold, plan);
    }
}
