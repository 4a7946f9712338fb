#include "operator/reconcile/decide/run/run.h"

#include "base/core/mem.h"

/* After its grace period, a kubelet needs a moment to end the pod and to report it. */
#define STOP_REPORTED_S 30

static bool is_overdue(const struct job_view *view, const struct pod *pod, struct plan *plan)
{
    int64_t left_s = pod->stopped_s + pod->grace_s + STOP_REPORTED_S - view->now_unix_s;

    return plan_is_due(plan, view->now_ms, view->now_ms + left_s * 1000);
}

/* A clock of another operator process may be ahead; a user may have written any time, even in the template.
 */
static bool is_in_future(const struct job_view *view, const struct pod *pod)
{
    return pod->stopped_s > view->now_unix_s + STOP_REPORTED_S;
}

void run_stop_pod(const struct job_view *view, const struct pod *pod, struct plan *plan)
{
    if (pod->deleting)
        return;
    if (!pod->has_log || pod->phase == POD_UNKNOWN)
        plan_pod_delete(plan, pod);
    else if (!pod->stopped_s || is_in_future(view, pod))
        plan_pod_stop(plan, pod, view->now_unix_s);
    else if (is_overdue(view, pod, plan))
        plan_pod_delete(plan, pod);
}

void run_stop_pods(const struct job_view *view, const struct instance_view *inst, struct plan *plan)
{
    for (uint32_t i = 0; i < job_pods_per_instance(&view->job->spec); i++) {
        const struct worker_view *worker = &inst->workers[i];

        if (worker->state == WORKER_PRESENT && !pod_is_terminal(worker->pod))
            run_stop_pod(view, worker->pod, plan);
    }
}

struct record *run_patch_record(const struct instance_view *inst, struct pod_summary *pods, struct plan *plan)
{
    struct record *next = record_copy(inst->record);

    next->outcome_unknown =
        next->outcome_unknown ||
        inst->partition.outcome_unknown; /* for the process that takes over after a crash */
    plan_add(plan, OP_RECORD_PATCH)->record = next;
    pods->record_changed = true;
    return next;
}

static void forget_disruption(struct record *record)
{
    mem_set_str(&record->disruption, NULL);
    mem_set_str(&record->disrupted_pod, NULL);
    record->disrupted_s = 0;
}

bool run_note_disruption(const struct instance_view *inst, struct pod_summary *pods, struct plan *plan)
{
    const struct failure *failure = &pods->failure;
    struct record *next;

    if (!failure->is_disruption || inst->record->disruption)
        return false;
    next = run_patch_record(inst, pods, plan);
    mem_set_str(&next->disruption, failure->reason);
    mem_set_str(&next->disrupted_pod, failure->pod_name);
    next->disrupted_s = failure->at_s;
    return true;
}

bool run_is_over(const struct job_view *view, const struct instance_view *inst,
                 const struct pod_summary *pods, struct plan *plan)
{
    const struct partition_view *partition = &inst->partition;
    bool is_settled = !pods->never_seen || !partition->outcome_unknown ||
                      plan_is_due(plan, view->now_ms, partition->settle_at_ms);
    /* Also of a pod that was created by the next request, and has gone: its name is free for the first one.
     */
    bool is_alone = plan_is_due(plan, view->now_ms, partition->pods_until_ms);

    return pods->may_be_running == 0 && is_settled && is_alone;
}

struct record *run_begin_next(const struct instance_view *inst, struct pod_summary *pods, struct plan *plan)
{
    struct record *next = run_patch_record(inst, pods, plan);

    if (next->has_launcher || inst->needs_vipu_access)
        plan_keys_delete(plan, next);
    next->run++;
    next->start++;
    next->started = next->launched = false;
    if (pods->failure.reason || pods->launcher_done || pods->succeeded == inst->record->workers) {
        next->restarts++;
        plan_note_restart(plan, next, pods->failure.reason ? pods->failure.reason : "Completed");
    }
    forget_disruption(next);
    return next;
}

void attempt_begin_next(const struct instance_view *inst, const char *reason, struct pod_summary *pods,
                        struct plan *plan)
{
    struct record *next = run_patch_record(inst, pods, plan);

    next->releasing = true;
    mem_set_str(&next->reason, reason);
    if (pods->failure.reason) {
        next->restarts++;
        plan_note_restart(plan, next, pods->failure.reason);
    }
}
