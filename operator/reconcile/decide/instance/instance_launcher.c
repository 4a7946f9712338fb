#include "base/core/mem.h"
#include "operator/reconcile/decide/instance/instance_launcher.h"
#include "operator/reconcile/decide/instance/instance_pods.h"
#include "operator/reconcile/decide/instance/instance_prerequisites.h"
#include "operator/reconcile/decide/instance/instance_restart.h"
#include "operator/reconcile/decide/run/run.h"

/* A launcher notices a dead worker before the worker's kubelet reports it, or the same process for both. */
#define CAUSE_SHOWS_S 5
#define CAUSE_SHOWS_HERE_S 1
/* A launcher that has lost a worker exits on its own and logs the cause; after this time its pod is stopped.
 */
#define LAUNCHER_ENDS_S 30

/* ---- keys, policy, service ---- */

/* Some pods have keys that the others can no longer get. */
void decide_keys_lost(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                      struct plan *plan, struct instance_result *ret)
{
    instance_set_result(ret, INSTANCE_RESTARTING, "SecretDeleted",
                        "The agent key Secret of instance %u was deleted; restarting the instance",
                        inst->index);
    run_stop_pods(view, inst, plan);
    if (run_is_over(view, inst, pods, plan))
        run_begin_next(inst, pods, plan);
}

/* ---- the launch ---- */

/* Reported only when it takes long: usually the pod is seen within milliseconds. */
static void report_launcher_starting(const struct job_view *view, struct instance_result *ret)
{
    instance_set_result(ret, INSTANCE_STARTING, "StartingLauncher",
                        "All workers ready; starting the launcher");
    ret->is_unanswered = !view->create_rejected;
    if (view->create_rejected)
        instance_set_result(ret, INSTANCE_STARTING, view->create_reason,
                            "The API server rejected the launcher pod: %s", view->create_text);
}

/* The record is written first, so that the next process does not start the program a second time, beside a
 * launcher that may still run unseen. */
static void create_launcher(const struct job_view *view, const struct instance_view *inst,
                            struct pod_summary *pods, struct plan *plan)
{
    struct op *op;

    if (view->create_rejected && !plan_is_due(plan, view->now_ms, view->create_retry_at_ms))
        return;
    if (!inst->record->launched) {
        run_patch_record(inst, pods, plan)->launched = true;
        return;
    }
    op = plan_add(plan, OP_POD_CREATE);
    op->instance = inst->index;
    op->worker = view->job->spec.workers_per_instance;
    op->name = mem_strdup(inst->record->name);
}

static void launch_when_ready(const struct job_view *view, const struct instance_view *inst,
                              struct pod_summary *pods, struct plan *plan, struct instance_result *ret)
{
    uint32_t workers = view->job->spec.workers_per_instance;

    instance_set_result(ret, INSTANCE_STARTING, "WaitingForWorkers",
                        "Waiting for workers: %u of %u ready on partition %s", pods->ready, workers,
                        inst->record->name);
    report_waiting_pod(view, pods, plan, ret);
    instance_note_step(view, inst, plan, ret);
    if (pods->ready < workers || inst->partition.state != PARTITION_ACTIVE || inst->partition.busy)
        return;
    report_launcher_starting(view, ret);
    if (decide_prerequisites(view, inst, pods, plan))
        create_launcher(view, inst, pods, plan);
}

void decide_launch(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                   struct plan *plan, struct instance_result *ret)
{
    const struct pod *launcher = pods->launcher;

    probe_keys_secret(view, inst, pods, plan);
    if (!launcher) {
        launch_when_ready(view, inst, pods, plan, ret);
    } else if (launcher->phase == POD_RUNNING) {
        report_running(inst, launcher->sidecar_still_running ? launcher : NULL, ret);
    } else {
        instance_set_result(ret, INSTANCE_STARTING, "StartingLauncher", "Launcher pod %s is starting",
                            launcher->name);
        report_waiting_pod(view, pods, plan, ret);
    }
}

/* After an upgrade of the operator: a launcher and agents of two versions may not understand each other, and
 * the workers do nothing yet but wait. */
bool workers_are_of_other_version(const struct job_view *view, const struct instance_view *inst,
                                  const struct pod_summary *pods)
{
    if (!view->job->spec.has_launcher || pods->launcher || inst->record->launched)
        return false;
    for (uint32_t w = 0; w < view->job->spec.workers_per_instance; w++) {
        const struct worker_view *worker = &inst->workers[w];

        if (worker->state == WORKER_PRESENT && worker->pod->launcher_image != view->launcher_image)
            return true;
    }
    return false;
}

void decide_other_version(const struct job_view *view, const struct instance_view *inst,
                          struct pod_summary *pods, struct plan *plan, struct instance_result *ret)
{
    instance_set_result(ret, INSTANCE_STARTING, "StoppingOldPods",
                        "Starting the workers of instance %u again: those that wait for the launcher are of "
                        "another version of the operator",
                        inst->index);
    run_stop_pods(view, inst, plan);
    if (run_is_over(view, inst, pods, plan))
        run_begin_next(inst, pods, plan);
}

/* ---- the end ---- */

bool decide_awaits_end(const struct job_view *view, const struct pod_summary *pods, struct plan *plan,
                       struct instance_result *ret)
{
    const struct pod *launcher = pods->launcher;
    bool is_alone = launcher && (pods->failure.pod == launcher || pods->failure.reported_by == launcher) &&
                    !pods->failure.is_disruption;

    if (!launcher || pod_is_ending(launcher))
        return false;
    if (is_alone && !pods->gone &&
        plan_is_within(plan, view->now_ms, view->now_unix_s, launcher->finished_s,
                       view->is_one_machine ? CAUSE_SHOWS_HERE_S : CAUSE_SHOWS_S)) {
        instance_set_result(ret, INSTANCE_ENDING, "Finishing", "Launcher pod %s failed", launcher->name);
        ret->failure = (struct failure){0};
        return true;
    }
    if (launcher->phase == POD_RUNNING &&
        plan_is_within(plan, view->now_ms, view->now_unix_s, pods->failure.at_s, LAUNCHER_ENDS_S)) {
        instance_set_result(ret, INSTANCE_ENDING, "Finishing",
                            "Pod %s terminated; waiting for the launcher to exit", pods->failure.pod_name);
        return true;
    }
    return false;
}

/* Workers may still run; they are stopped after this result has been written to the status. */
void decide_launcher_done(const struct job_view *view, const struct instance_view *inst,
                          struct pod_summary *pods, struct plan *plan, struct instance_result *ret)
{
    if (wants_restart(&view->job->spec, inst->record, NULL))
        decide_restart(view, inst, pods, pods->launcher_done->finished_s, plan, ret);
    else
        instance_set_result(ret, INSTANCE_DONE, "Completed", "Instance %u done", inst->index);
}
