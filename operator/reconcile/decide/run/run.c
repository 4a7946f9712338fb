#include "operator/reconcile/decide/run/run.h"

#include "base/core/mem.h"

void run_delete_pods(const struct job_view *view, const struct instance_view *inst, struct plan *plan)
{
    for (uint32_t i = 0; i < job_pods_per_instance(&view->job->spec); i++) {
        const struct worker_view *worker = &inst->workers[i];

        if (worker->state == WORKER_PRESENT && !pod_is_terminal(worker->pod))
            plan_pod_delete(plan, worker->pod);
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
    bool may_arrive =
        pods->never_seen && inst->partition.outcome_unknown && view->now_ms < inst->partition.settle_at_ms;

    if (may_arrive)
        plan_again_at(plan, inst->partition.settle_at_ms);
    return pods->may_be_running == 0 && !may_arrive;
}

struct record *run_begin_next(const struct instance_view *inst, struct pod_summary *pods, struct plan *plan)
{
    struct record *next = run_patch_record(inst, pods, plan);

    if (next->has_launcher || inst->needs_vipu_access)
        plan_keys_delete(plan, next);
    next->run++;
    next->start++;
    next->started = next->launched = false;
    next->restarts += pods->failure.reason || pods->launcher_done || pods->succeeded == inst->record->workers;
    forget_disruption(next);
    return next;
}

void attempt_begin_next(const struct instance_view *inst, const char *reason, struct pod_summary *pods,
                        struct plan *plan)
{
    struct record *next = run_patch_record(inst, pods, plan);

    next->releasing = true;
    mem_set_str(&next->reason, reason);
    next->restarts += pods->failure.reason != NULL;
}
