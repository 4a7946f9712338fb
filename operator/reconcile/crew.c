#include "operator/reconcile/crew.h"

#include "base/core/mem.h"

/* ---- the record ---- */

struct record *crew_change_record(const struct instance_view *inst, struct crew *crew, struct plan *plan)
{
    struct record *next = record_copy(inst->record);

    next->unsettled = next->unsettled || inst->part.unsettled; /* known to whoever comes after a crash */
    plan_add(plan, OP_RECORD_PATCH)->record = next;
    crew->record_changed = true;
    return next;
}

static void forget_disruption(struct record *record)
{
    mem_set_str(&record->disruption, NULL);
    mem_set_str(&record->disrupted_pod, NULL);
    record->disrupted_s = 0;
}

bool crew_note_disruption(const struct instance_view *inst, struct crew *crew, struct plan *plan)
{
    const struct failure *failure = &crew->failure;
    struct record *next;

    if (!failure->is_disruption || inst->record->disruption)
        return false;
    next = crew_change_record(inst, crew, plan);
    mem_set_str(&next->disruption, failure->reason);
    mem_set_str(&next->disrupted_pod, failure->pod_name);
    next->disrupted_s = failure->at_s;
    return true;
}

struct record *crew_begin_next_run(const struct instance_view *inst, struct crew *crew, struct plan *plan)
{
    struct record *next = crew_change_record(inst, crew, plan);

    next->run++;
    next->started = false;
    next->restarts += crew->failure.reason || crew->succeeded == inst->record->workers;
    forget_disruption(next);
    return next;
}

void crew_begin_next_attempt(const struct instance_view *inst, const char *reason, struct crew *crew,
                             struct plan *plan)
{
    struct record *next = crew_change_record(inst, crew, plan);

    next->releasing = true;
    mem_set_str(&next->reason, reason);
    next->restarts += crew->failure.reason != NULL;
}

/* ---- summing up ---- */

static void sum_up_end(const struct pod *pod, struct crew *crew)
{
    struct failure failure = {0};

    if (pod->disruption)
        failure = failure_of_disruption(pod);
    if (pod->cut_short) {
        crew->gone++;
    } else if (pod->phase == POD_SUCCEEDED) {
        crew->succeeded++;
    } else if (pod->phase == POD_FAILED) {
        crew->failed++;
        failure = failure_of_pod(pod);
    }
    if (failure.reason)
        failure_take_first(&crew->failure, &failure);
}

static void sum_up_gone(const struct worker_view *worker, uint32_t instance, struct crew *crew)
{
    struct failure failure = {
        .reason = worker->disruption,
        .pod_name = worker->pod_name,
        .is_disruption = true,
        .at_s = worker->disrupted_s,
        .instance = instance,
    };

    if (failure.reason)
        failure_take_first(&crew->failure, &failure);
}

/* What the record has noted stands, whatever else has failed since; while its pod is there, it says more. */
static void recall_disruption(const struct instance_view *inst, struct crew *crew)
{
    struct failure noted = failure_of_record(inst->record);

    if (!noted.reason)
        return;
    if (crew->failure.is_disruption && str_eq(crew->failure.pod_name, noted.pod_name))
        noted.pod = crew->failure.pod;
    crew->failure = noted;
}

/* Returns whether it is lost: asked to go long ago and still there, so that its node does not answer. */
static bool sum_up_present(const struct job_view *view, const struct worker_view *worker, struct crew *crew)
{
    const struct pod *pod = worker->pod;
    int64_t until = worker->since_ms + view->hold_ms;

    crew->present++;
    crew->running += pod->phase == POD_RUNNING;
    sum_up_end(pod, crew);
    if (pod->phase == POD_PENDING && pod->reason && !pod->deleting && !crew->waiting_pod)
        crew->waiting_pod = pod;
    if (pod_is_quiet(pod, false, worker->node_fenced))
        return false;
    if (pod->deleting && view->now_ms >= until)
        return true;
    crew->noisy++;
    if (pod->deleting && (!crew->patience_ms || until < crew->patience_ms))
        crew->patience_ms = until;
    return false;
}

void crew_sum_up(const struct job_view *view, const struct instance_view *inst, struct crew *crew)
{
    for (uint32_t w = 0; w < view->job->spec.workers_per_instance; w++) {
        const struct worker_view *worker = &inst->workers[w];
        bool is_lost = false;

        switch (worker->state) {
        case WORKER_PRESENT:
            is_lost = sum_up_present(view, worker, crew);
            break;
        case WORKER_GONE_QUIET:
            crew->gone++;
            sum_up_gone(worker, inst->index, crew);
            break;
        case WORKER_GONE_UNKNOWN:
            is_lost = true;
            sum_up_gone(worker, inst->index, crew);
            break;
        case WORKER_NEVER_SEEN:
            crew->never_seen++;
            is_lost = inst->record && inst->record->started; /* vanished while nobody watched */
            break;
        }
        if (is_lost && (!crew->lost || worker->since_ms > crew->lost->since_ms)) {
            crew->lost = worker;
            crew->lost_index = w;
        }
    }
    if (inst->record)
        recall_disruption(inst, crew);
    crew->failure.attempt = inst->record ? inst->record->restarts : 0;
}

void crew_delete(const struct job_view *view, const struct instance_view *inst, struct plan *plan)
{
    for (uint32_t w = 0; w < view->job->spec.workers_per_instance; w++) {
        const struct worker_view *worker = &inst->workers[w];

        if (worker->state == WORKER_PRESENT && !pod_is_terminal(worker->pod))
            plan_pod_delete(plan, worker->pod);
    }
}
