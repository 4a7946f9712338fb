#include "base/core/mem.h"
#include "operator/api/observed/pod_exit.h"
#include "operator/api/pod/pod_references.h"
#include "operator/api/reasons.h"
#include "operator/reconcile/decide/instance/instance_endpoints.h"
#include "operator/reconcile/decide/instance/instance_pods.h"
#include "operator/reconcile/decide/instance/instance_prerequisites.h"
#include "operator/reconcile/decide/instance/instance_restart.h"
#include "operator/reconcile/decide/run/run.h"

/* Attaching a volume can take long; a volume that does not exist never attaches. What the template names is
 * mostly there at once, or does not exist. */
#define PREPARED_S 60
#define NAMED_S 20

/* Users first look for the last thing that the program printed. */
static void report_failed(const struct job_spec *spec, const struct pod_summary *pods,
                          struct instance_result *ret)
{
    AUTO(mem) char *what = failure_sentence(&pods->failure);
    struct slice last = failure_last_line(&pods->failure);
    const char *colon = last.len ? ": " : "";

    if (spec->backoff_limit && failure_calls_for_restart(spec, &pods->for_policy))
        instance_set_result(ret, INSTANCE_FAILED, "BackoffLimitExceeded",
                            "%s; backOffLimit of %u %s reached%s%.*s", what, spec->backoff_limit,
                            spec->backoff_limit == 1 ? "restart" : "restarts", colon, (int)last.len,
                            last.ptr);
    else
        instance_set_result(ret, INSTANCE_FAILED, pods->failure.reason, "%s%s%.*s", what, colon,
                            (int)last.len, last.ptr);
}

void decide_failed(const struct job_view *view, const struct instance_view *inst,
                   const struct pod_summary *pods, struct plan *plan, struct instance_result *ret)
{
    run_stop_pods(view, inst, plan); /* peers of a failed worker would wait for it indefinitely */
    report_failed(&view->job->spec, pods, ret);
    if (pods->may_be_running)
        ret->phase = INSTANCE_ENDING;
}

static void decide_succeeded(const struct job_view *view, const struct instance_view *inst,
                             struct pod_summary *pods, struct plan *plan, struct instance_result *ret)
{
    if (pods->may_be_running)
        instance_set_result(ret, INSTANCE_ENDING, "Finishing", "Instance %u is finishing", inst->index);
    else if (wants_restart(&view->job->spec, inst->record, NULL))
        decide_restart(view, inst, pods, inst->workers[0].pod->finished_s, plan, ret);
    else
        instance_set_result(ret, INSTANCE_DONE, "Completed", "Instance %u done", inst->index);
}

/* Deleted by a user: it is created again, and so is the rest of its instance. */
void decide_pod_recreated(const struct job_view *view, const struct instance_view *inst,
                          struct pod_summary *pods, struct plan *plan, struct instance_result *ret)
{
    instance_set_result(ret, INSTANCE_RESTARTING, "PodDeleted",
                        "A pod of instance %u was deleted; restarting the instance", inst->index);
    run_stop_pods(view, inst, plan);
    if (run_is_over(view, inst, pods, plan) && !must_back_off(view, inst, plan))
        run_begin_next(inst, pods, plan);
}

/* A scheduling gate is set on purpose; the other causes may last indefinitely. */
static void report_pod_trouble(const struct pod *pod, struct instance_result *ret)
{
    const char *reason = pod->trouble ? pod->trouble : "PodWaiting";

    instance_set_result(ret, INSTANCE_STARTING, reason, "Pod %s is waiting: %s%s%s", pod->name, pod->reason,
                        pod->message ? ": " : "", pod->message ? pod->message : "");
    ret->is_stuck = reason_is_warning(reason);
}

/* Only kubelet events name what is missing; the template names what may be. */
static void report_not_prepared(const struct job_view *view, const struct pod *pod, bool is_late,
                                struct instance_result *ret)
{
    struct err err = {0};
    AUTO(json) cJSON *template = job_template(view->job, &err);
    AUTO(mem) char *needs = pod_references_describe(template);

    if (!*needs && !is_late)
        return;
    instance_set_result(ret, INSTANCE_STARTING, "PodSandboxNotReady",
                        "Pod %s is waiting: volumes or network not ready on node %s after %d s%s%s (kubectl "
                        "describe pod -n %s %s)",
                        pod->name, pod->node, *needs ? NAMED_S : PREPARED_S,
                        *needs ? "; check that these exist: " : "", needs, view->ns, pod->name);
    ret->is_stuck = is_late;
}

/* It may load data, or wait for something that never comes. */
static void report_running_init(const struct job_view *view, const struct pod *pod,
                                struct instance_result *ret)
{
    instance_set_result(
        ret, INSTANCE_STARTING, "PodWaiting",
        "Pod %s is waiting: init container %s still runs after %d s (kubectl logs -n %s %s -c %s)", pod->name,
        pod->running_init, PREPARED_S, view->ns, pod->name, pod->running_init);
}

void report_waiting_pod(const struct job_view *view, const struct pod_summary *pods, struct plan *plan,
                        struct instance_result *ret)
{
    const struct pod *not_prepared = pods->not_prepared,
                     *slow = not_prepared ? not_prepared : pods->with_running_init;
    int64_t waited_s = slow ? view->now_unix_s - slow->scheduled_s : 0;
    int64_t named_s = not_prepared ? NAMED_S : PREPARED_S;

    if (pods->waiting_pod)
        report_pod_trouble(pods->waiting_pod, ret);
    if (pods->waiting_pod || !slow)
        return;
    if (waited_s < PREPARED_S)
        plan_again_at(plan, view->now_ms + ((waited_s < named_s ? named_s : PREPARED_S) - waited_s) * 1000);
    if (waited_s < named_s)
        return;
    if (not_prepared)
        report_not_prepared(view, not_prepared, waited_s >= PREPARED_S, ret);
    else
        report_running_init(view, slow, ret);
}

static void report_ended_main(const struct pod *pod, struct instance_result *ret)
{
    AUTO(mem) char *how = pod_exit_describe(pod);

    instance_set_result(ret, INSTANCE_ENDING, "Finishing",
                        "Container %s of pod %s %s; waiting for container %s to exit", pod->failed_container,
                        pod->name, how, pod->sidecar_still_running);
}

void report_running(const struct instance_view *inst, const struct pod *with_running_sidecar,
                    struct instance_result *ret)
{
    if (!with_running_sidecar)
        instance_set_result(ret, INSTANCE_RUNNING, "Running", "Instance %u is running", inst->index);
    else if (with_running_sidecar->exit_code)
        report_ended_main(with_running_sidecar, ret);
    else
        instance_set_result(ret, INSTANCE_ENDING, "Finishing",
                            "Main container of pod %s completed; waiting for container %s to exit",
                            with_running_sidecar->name, with_running_sidecar->sidecar_still_running);
}

void decide_replaced(const struct job_view *view, const struct instance_view *inst,
                     enum rollout_action rollout_action, struct pod_summary *pods, struct plan *plan,
                     struct instance_result *ret)
{
    struct record *next;

    instance_set_result(ret, INSTANCE_STARTING, "RollingUpdate",
                        "Updating instance %u to the new pod template", inst->index);
    run_stop_pods(view, inst, plan);
    if (rollout_action != ROLLOUT_REPLACE || !run_is_over(view, inst, pods, plan))
        return;
    next = run_begin_next(inst, pods, plan);
    next->restarts = inst->record->restarts;
    plan_note_restart(plan, next, NULL);
}

void decide_running(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                    struct plan *plan, struct instance_result *ret)
{
    uint32_t workers = view->job->spec.workers_per_instance;

    if (inst->needs_vipu_access)
        probe_keys_secret(view, inst, pods, plan);
    if (pods->succeeded == workers) {
        decide_succeeded(view, inst, pods, plan, ret);
    } else if (decide_endpoints(view, inst, plan, ret)) {
        return;
    } else if (pods->running + pods->succeeded == workers) {
        report_running(inst, pods->with_ended_main == pods->running ? pods->with_running_sidecar : NULL, ret);
    } else {
        instance_set_result(ret, INSTANCE_STARTING, "StartingPods", "%u of %u pods running on partition %s",
                            pods->running, workers, inst->record->name);
        report_waiting_pod(view, pods, plan, ret);
        instance_note_step(view, inst, plan, ret);
    }
}
