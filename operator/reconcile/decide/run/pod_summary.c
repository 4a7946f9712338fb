#include "operator/reconcile/decide/run/pod_summary.h"

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

bool crew_is_over(const struct job_view *view, const struct instance_view *inst, const struct crew *crew,
                  struct plan *plan)
{
    bool may_arrive = crew->never_seen && inst->part.unsettled && view->now_ms < inst->part.settle_at_ms;

    if (may_arrive)
        plan_again_at(plan, inst->part.settle_at_ms);
    return crew->noisy == 0 && !may_arrive;
}

struct record *crew_begin_next_run(const struct instance_view *inst, struct crew *crew, struct plan *plan)
{
    struct record *next = crew_change_record(inst, crew, plan);

    if (next->has_launcher || inst->needs_vipu_access)
        plan_keys_delete(plan, next);
    next->run++;
    next->start++;
    next->started = next->launched = false;
    next->restarts += crew->failure.reason || crew->launcher_done || crew->succeeded == inst->record->workers;
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
    crew->failure = crew->judged = noted;
}

static void sum_up_worker(const struct worker_view *worker, struct crew *crew)
{
    const struct pod *pod = worker->pod;

    crew->never_seen += worker->state == WORKER_NEVER_SEEN;
    crew->gone += worker->state == WORKER_GONE_QUIET;
    if (worker->state != WORKER_PRESENT)
        return;
    crew->present++;
    crew->running += pod->phase == POD_RUNNING;
    if (pod->phase == POD_RUNNING && pod->lingering) {
        crew->lingering++;
        crew->lingers = pod;
    }
    crew->ready += pod->ready && pod->ip && !pod->deleting;
    sum_up_end(pod, crew);
}

/* A worker that ends well before its launcher has failed: nobody told it to. */
static void look_for_early_end(const struct instance_view *inst, uint32_t workers, struct crew *crew)
{
    for (uint32_t w = 0; w < workers && !crew->failure.reason; w++) {
        const struct pod *pod = inst->workers[w].state == WORKER_PRESENT ? inst->workers[w].pod : NULL;

        if (!pod || pod->phase != POD_SUCCEEDED || pod->cut_short)
            continue;
        crew->failure = failure_of_pod(pod);
        crew->failure.reason = "WorkerEnded";
        crew->failure.at_s = pod->finished_s;
    }
}

/* Who dies first takes the others along, and the launcher is told by its network before the operator is by a
 * kubelet: a worker is named before the launcher that misses it. */
static void sum_up_launcher(const struct instance_view *inst, uint32_t seat, struct crew *crew)
{
    const struct worker_view *launcher = &inst->workers[seat];
    const struct pod *pod = launcher->pod;
    struct failure failure = {0};

    crew->gone += launcher->state == WORKER_GONE_QUIET;
    if (launcher->state == WORKER_PRESENT) {
        crew->launcher = pod;
        if (pod->disruption)
            failure = failure_of_disruption(pod);
        if (pod->cut_short)
            crew->gone++;
        else if (pod->phase == POD_SUCCEEDED)
            crew->launcher_done = pod;
        else if (pod->phase == POD_FAILED)
            failure = failure_of_pod(pod);
    }
    if (!crew->launcher_done)
        look_for_early_end(inst, seat, crew);
    if (failure.reason && !failure.is_disruption && !crew->failure.reason)
        crew->failure = failure_of_lost_worker(pod, inst->workers, seat);
    if (failure.reason && !crew->failure.reason)
        crew->failure = failure;
    crew->judged = failure.reason && !crew->failure.is_disruption ? failure : crew->failure;
}

/* May something of it still run? Returns whether it is lost: asked to go long ago and still there, so that
 * its node does not answer. */
static bool sum_up_present(const struct job_view *view, const struct worker_view *seat, struct crew *crew)
{
    const struct pod *pod = seat->pod;
    int64_t until = seat->since_ms + view->hold_ms;

    if (pod->phase == POD_PENDING && pod->reason && !pod->deleting && !crew->waiting_pod)
        crew->waiting_pod = pod;
    if (pod_is_quiet(pod, false, seat->node_fenced))
        return false;
    if (pod->deleting && view->now_ms >= until)
        return true;
    crew->noisy++;
    if (pod->deleting && (!crew->patience_ms || until < crew->patience_ms))
        crew->patience_ms = until;
    return false;
}

static bool is_lost(const struct job_view *view, const struct worker_view *seat, struct crew *crew)
{
    if (seat->state == WORKER_PRESENT)
        return sum_up_present(view, seat, crew);
    return seat->state == WORKER_GONE_UNKNOWN || seat->is_unsure; /* unsure: vanished while nobody watched */
}

static bool is_unbegun(const struct pod *pod)
{
    return pod->node && pod->phase == POD_PENDING && !pod->has_begun && !pod->trouble && !pod->deleting;
}

static void sum_up_start(const struct pod *pod, struct crew *crew)
{
    if (!is_unbegun(pod))
        return;
    crew->unbegun++;
    if (pod->is_unprepared && (!crew->unprepared || pod->scheduled_s < crew->unprepared->scheduled_s))
        crew->unprepared = pod;
}

void crew_sum_up(const struct job_view *view, const struct instance_view *inst, struct crew *crew)
{
    const struct job_spec *spec = &view->job->spec;

    for (uint32_t i = 0; i < job_seats(spec); i++) {
        const struct worker_view *seat = &inst->workers[i];

        if (i < spec->workers_per_instance)
            sum_up_worker(seat, crew);
        if (seat->state == WORKER_PRESENT)
            sum_up_start(seat->pod, crew);
        if (seat->state == WORKER_GONE_QUIET || seat->state == WORKER_GONE_UNKNOWN)
            sum_up_gone(seat, inst->index, crew);
        if (is_lost(view, seat, crew) && (!crew->lost || seat->since_ms > crew->lost->since_ms)) {
            crew->lost = seat;
            crew->lost_index = i;
        }
    }
    crew->judged = crew->failure;
    if (spec->has_launcher)
        sum_up_launcher(inst, spec->workers_per_instance, crew);
    if (inst->record)
        recall_disruption(inst, crew);
    crew->failure.attempt = inst->record ? inst->record->restarts : 0;
}

void crew_delete(const struct job_view *view, const struct instance_view *inst, struct plan *plan)
{
    for (uint32_t i = 0; i < job_seats(&view->job->spec); i++) {
        const struct worker_view *seat = &inst->workers[i];

        if (seat->state == WORKER_PRESENT && !pod_is_terminal(seat->pod))
            plan_pod_delete(plan, seat->pod);
    }
}
