#include "operator/reconcile/decide/run/pod_summary.h"

#include "base/core/mem.h"
#include "operator/reconcile/decide/run/hold.h"

static void sum_up_end(const struct pod *pod, struct pod_summary *pods)
{
    struct failure failure = {0};

    if (pod->disruption)
        failure = failure_of_disruption(pod);
    if (pod->stopped_while_running) {
        pods->gone++;
    } else if (pod->phase == POD_SUCCEEDED) {
        pods->succeeded++;
    } else if (pod->phase == POD_FAILED) {
        pods->failed++;
        failure = failure_of_pod(pod);
    }
    if (failure.reason)
        failure_take_first(&pods->failure, &failure);
}

static void sum_up_gone(const struct worker_view *worker, uint32_t instance, struct pod_summary *pods)
{
    struct failure failure = {
        .reason = worker->disruption,
        .pod_name = worker->pod_name,
        .is_disruption = true,
        .at_s = worker->disrupted_s,
        .instance = instance,
    };

    if (failure.reason)
        failure_take_first(&pods->failure, &failure);
}

/* A disruption noted in the record stays the cause, even if other pods failed later. If the disrupted pod
 * still exists, its details are used. */
static void recall_disruption(const struct instance_view *inst, struct pod_summary *pods)
{
    struct failure noted = failure_of_record(inst->record);

    if (!noted.reason)
        return;
    if (pods->failure.is_disruption && str_eq(pods->failure.pod_name, noted.pod_name))
        noted.pod = pods->failure.pod;
    pods->failure = pods->for_policy = noted;
}

static void sum_up_worker(const struct worker_view *worker, struct pod_summary *pods)
{
    const struct pod *pod = worker->pod;

    pods->never_seen += worker->state == WORKER_NEVER_SEEN;
    pods->gone += worker->state == WORKER_GONE_STOPPED;
    if (worker->state != WORKER_PRESENT)
        return;
    pods->present++;
    pods->running += pod->phase == POD_RUNNING;
    if (pod->phase == POD_RUNNING && pod->sidecar_still_running) {
        pods->with_ended_main++;
        pods->with_running_sidecar = pod;
    }
    pods->ready += pod->ready && pod->ip && !pod_is_ending(pod);
    sum_up_end(pod, pods);
}

/* A worker that exits before its launcher counts as failed, even with exit code 0. */
static void find_early_exit(const struct instance_view *inst, uint32_t workers, struct pod_summary *pods)
{
    for (uint32_t w = 0; w < workers && !pods->failure.reason; w++) {
        const struct pod *pod = inst->workers[w].state == WORKER_PRESENT ? inst->workers[w].pod : NULL;

        if (!pod || pod->phase != POD_SUCCEEDED || pod->stopped_while_running)
            continue;
        pods->failure = failure_of_pod(pod);
        pods->failure.reason = "WorkerEnded";
        pods->failure.at_s = pod->finished_s;
    }
}

/* The first pod that dies takes the others along, and the network tells the launcher before a kubelet tells
 * the operator: so a worker is named before the launcher that has lost it. */
static void sum_up_launcher(const struct instance_view *inst, uint32_t index, struct pod_summary *pods)
{
    const struct worker_view *launcher = &inst->workers[index];
    const struct pod *pod = launcher->pod;
    struct failure failure = {0};

    pods->gone += launcher->state == WORKER_GONE_STOPPED;
    if (launcher->state == WORKER_PRESENT) {
        pods->launcher = pod;
        if (pod->disruption)
            failure = failure_of_disruption(pod);
        if (pod->stopped_while_running)
            pods->gone++;
        else if (pod->phase == POD_SUCCEEDED)
            pods->launcher_done = pod;
        else if (pod->phase == POD_FAILED)
            failure = failure_of_pod(pod);
    }
    if (!pods->launcher_done)
        find_early_exit(inst, index, pods);
    if (failure.reason && !failure.is_disruption && !pods->failure.reason)
        pods->failure = failure_of_lost_worker(pod, inst->workers, index);
    if (failure.reason && !pods->failure.reason)
        pods->failure = failure;
    pods->for_policy = failure.reason && !pods->failure.is_disruption ? failure : pods->failure;
}

/* May a process of it still run? Returns whether it is lost: its deletion began long ago and it still
 * exists, so its node does not answer. */
static bool sum_up_present(const struct job_view *view, const struct instance_view *inst,
                           const struct worker_view *worker, struct pod_summary *pods)
{
    const struct pod *pod = worker->pod;

    if (pod->phase == POD_PENDING && pod->reason && !pod_is_ending(pod) && !pods->waiting_pod)
        pods->waiting_pod = pod;
    if (pod_has_stopped(pod, false, worker->node_fenced))
        return false;
    if (pod->deleting && inst->record) {
        struct hold hold = hold_of_worker(inst->record, worker);

        if (view->now_ms >= hold_until_ms(view, &inst->partition, &hold))
            return true;
        if (!pods->terminating || worker->since_ms < pods->terminating->since_ms)
            pods->terminating = worker;
    }
    pods->may_be_running++;
    return false;
}

static bool is_lost(const struct job_view *view, const struct instance_view *inst,
                    const struct worker_view *worker, struct pod_summary *pods)
{
    if (worker->state == WORKER_PRESENT)
        return sum_up_present(view, inst, worker, pods);
    return worker->state == WORKER_GONE_UNKNOWN ||
           worker->may_have_started_unseen; /* it may have started and disappeared while no operator was
                                               watching */
}

static bool is_unbegun(const struct pod *pod)
{
    return pod->node && pod->phase == POD_PENDING && !pod->has_started && !pod->trouble && !pod->deleting;
}

static bool is_unready(const struct pod *pod)
{
    return (pod->node_not_ready || pod->unready_container) && !pod_is_ending(pod);
}

static void keep_longest(const struct pod *pod, const struct pod **slot)
{
    if (!*slot || pod->scheduled_s < (*slot)->scheduled_s)
        *slot = pod;
}

static void sum_up_start(const struct pod *pod, struct pod_summary *pods)
{
    pods->begun += pod->begun_s || pod->phase != POD_PENDING;
    if (is_unready(pod) && pods->unready++ == 0)
        pods->unready_pod = pod;
    if (pod->running_init && pod->phase == POD_PENDING && !pod_is_ending(pod))
        keep_longest(pod, &pods->with_running_init);
    if (!is_unbegun(pod))
        return;
    pods->not_started++;
    if (pod->sandbox_not_ready)
        keep_longest(pod, &pods->not_prepared);
}

void pod_summary_of(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods)
{
    const struct job_spec *spec = &view->job->spec;

    for (uint32_t i = 0; i < job_pods_per_instance(spec); i++) {
        const struct worker_view *worker = &inst->workers[i];

        if (i < spec->workers_per_instance)
            sum_up_worker(worker, pods);
        if (worker->state == WORKER_PRESENT)
            sum_up_start(worker->pod, pods);
        if (worker->state == WORKER_GONE_STOPPED || worker->state == WORKER_GONE_UNKNOWN)
            sum_up_gone(worker, inst->index, pods);
        if (is_lost(view, inst, worker, pods) && (!pods->lost || worker->since_ms > pods->lost->since_ms)) {
            pods->lost = worker;
            pods->lost_index = i;
        }
    }
    pods->for_policy = pods->failure;
    if (spec->has_launcher)
        sum_up_launcher(inst, spec->workers_per_instance, pods);
    if (inst->record)
        recall_disruption(inst, pods);
    pods->failure.attempt = inst->record ? inst->record->restarts : 0;
}
