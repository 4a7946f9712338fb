#include "base/core/mem.h"
#include "operator/api/podneeds.h"
#include "operator/api/reasons.h"
#include "operator/reconcile/decide/instance/instance_parts.h"

/* A restart waits 10 s after the first failure, twice as long after each further one, at most 5 min. */
#define RESTART_FIRST_S 10
#define RESTART_MAX_S 300

/* Attaching a volume may take its time; one that is missing takes for ever. */
#define PREPARED_S 60

/* failure NULL: it ended well. */
bool wants_restart(const struct job_spec *spec, const struct record *record, const struct failure *failure)
{
    if (record->restarts >= spec->backoff_limit)
        return false;
    return failure ? failure_calls_for_restart(spec, failure) : spec->restart == RESTART_ALWAYS;
}

static int64_t restart_delay_s(uint32_t restarts)
{
    int64_t delay = RESTART_FIRST_S;

    while (restarts-- && delay < RESTART_MAX_S)
        delay *= 2;
    return delay < RESTART_MAX_S ? delay : RESTART_MAX_S;
}

void decide_restart(const struct job_view *view, const struct instance_view *inst, struct crew *crew,
                    int64_t ended_s, struct plan *plan, struct instance_result *ret)
{
    int64_t wait_s = ended_s + restart_delay_s(inst->record->restarts) - view->now_unix_s;

    instance_say(ret, INSTANCE_RESTARTING, "Restarting", "Instance %u is being restarted (%u of at most %u)",
                 inst->index, inst->record->restarts + 1, view->job->spec.backoff_limit);
    crew_delete(view, inst, plan);
    if (!crew_is_over(view, inst, crew, plan))
        return;
    if (wait_s > 0 && wait_s <= RESTART_MAX_S)
        plan_again_at(plan, view->now_ms + wait_s * 1000);
    else
        crew_begin_next_run(inst, crew, plan);
}

/* What the program said last is what its user wants to know first. */
static void say_failed(const struct job_spec *spec, const struct crew *crew, struct instance_result *ret)
{
    AUTO(mem) char *what = failure_sentence(&crew->failure);
    struct slice last = failure_last_line(&crew->failure);
    const char *colon = last.len ? ": " : "";

    if (spec->backoff_limit && failure_calls_for_restart(spec, &crew->judged))
        instance_say(ret, INSTANCE_FAILED, "BackoffLimitExceeded",
                     "%s, after %u of at most %u restarts%s%.*s", what, spec->backoff_limit,
                     spec->backoff_limit, colon, (int)last.len, last.ptr);
    else
        instance_say(ret, INSTANCE_FAILED, crew->failure.reason, "%s%s%.*s", what, colon, (int)last.len,
                     last.ptr);
}

void decide_failed(const struct job_view *view, const struct instance_view *inst, const struct crew *crew,
                   struct plan *plan, struct instance_result *ret)
{
    crew_delete(view, inst, plan); /* peers of a failed worker would wait for it for ever */
    say_failed(&view->job->spec, crew, ret);
    if (crew->noisy)
        ret->phase = INSTANCE_ENDING;
}

static void decide_succeeded(const struct job_view *view, const struct instance_view *inst, struct crew *crew,
                             struct plan *plan, struct instance_result *ret)
{
    if (crew->noisy)
        instance_say(ret, INSTANCE_ENDING, "Ending", "Instance %u is ending", inst->index);
    else if (wants_restart(&view->job->spec, inst->record, NULL))
        decide_restart(view, inst, crew, inst->workers[0].pod->finished_s, plan, ret);
    else
        instance_say(ret, INSTANCE_DONE, "Completed", "Instance %u done", inst->index);
}

/* Deleted by hand: it comes back, and with it the rest of its instance. */
void decide_comes_back(const struct job_view *view, const struct instance_view *inst, struct crew *crew,
                       struct plan *plan, struct instance_result *ret)
{
    instance_say(ret, INSTANCE_RESTARTING, "PodGone",
                 "A pod of instance %u was deleted; its pods are being started again", inst->index);
    crew_delete(view, inst, plan);
    if (crew_is_over(view, inst, crew, plan) && !begins_too_soon(view, inst, plan))
        crew_begin_next_run(inst, crew, plan);
}

/* A gate is somebody's intention; the others may stand for ever. */
static void say_what_it_says(const struct pod *pod, struct instance_result *ret)
{
    const char *reason = pod->trouble ? pod->trouble : "PodsWaiting";

    instance_say(ret, INSTANCE_STARTING, reason, "Pod %s waits: %s%s%s", pod->name, pod->reason,
                 pod->message ? ": " : "", pod->message ? pod->message : "");
    ret->is_stuck = reason_is_warning(reason);
}

/* What is missing stands in events of its kubelet alone; what could be missing stands in the template. */
static void say_unprepared(const struct job_view *view, const struct pod *pod, struct instance_result *ret)
{
    struct err err = {0};
    AUTO(json) cJSON *template = job_template(view->job, &err);
    AUTO(mem) char *needs = podneeds_tell(template);

    instance_say(
        ret, INSTANCE_STARTING, "PodNotPrepared",
        "Pod %s waits: node %s could not prepare its volumes and network for %d seconds%s%s; kubectl "
        "describe pod -n %s %s tells what is missing",
        pod->name, pod->node, PREPARED_S, *needs ? "; the volumes name " : "", needs, view->ns, pod->name);
    ret->is_stuck = true;
}

void say_waiting(const struct job_view *view, const struct crew *crew, struct plan *plan,
                 struct instance_result *ret)
{
    const struct pod *unprepared = crew->unprepared;
    int64_t left_s = unprepared ? unprepared->scheduled_s + PREPARED_S - view->now_unix_s : 0;

    if (crew->waiting_pod)
        say_what_it_says(crew->waiting_pod, ret);
    else if (unprepared && left_s > 0)
        plan_again_at(plan, view->now_ms + left_s * 1000);
    else if (unprepared)
        say_unprepared(view, unprepared, ret);
}

void say_running(const struct instance_view *inst, const struct pod *lingers, struct instance_result *ret)
{
    if (!lingers)
        instance_say(ret, INSTANCE_RUNNING, "Running", "Instance %u is running", inst->index);
    else if (lingers->exit_code)
        instance_say(
            ret, INSTANCE_ENDING, "Ending",
            "Container %s of pod %s has failed with exit code %d; container %s still runs, and the pod "
            "ends with it",
            lingers->failed_container, lingers->name, lingers->exit_code, lingers->lingering);
    else
        instance_say(ret, INSTANCE_ENDING, "Ending",
                     "The program of pod %s has ended; container %s still runs, and the pod ends with it",
                     lingers->name, lingers->lingering);
}

void decide_replaced(const struct job_view *view, const struct instance_view *inst, enum turnover turnover,
                     struct crew *crew, struct plan *plan, struct instance_result *ret)
{
    struct record *next;

    instance_say(ret, INSTANCE_STARTING, "Updating",
                 "Instance %u is being replaced, because the template has changed", inst->index);
    crew_delete(view, inst, plan);
    if (turnover != TURNOVER_REPLACE || !crew_is_over(view, inst, crew, plan))
        return;
    next = crew_begin_next_run(inst, crew, plan);
    next->restarts = inst->record->restarts;
}

void decide_running(const struct job_view *view, const struct instance_view *inst, struct crew *crew,
                    struct plan *plan, struct instance_result *ret)
{
    uint32_t workers = view->job->spec.workers_per_instance;

    if (inst->needs_vipu_access)
        look_for_keys(view, inst, crew, plan);
    if (crew->succeeded == workers) {
        decide_succeeded(view, inst, crew, plan, ret);
    } else if (decide_names(view, inst, plan, ret)) {
        return;
    } else if (crew->running + crew->succeeded == workers) {
        say_running(inst, crew->lingering == crew->running ? crew->lingers : NULL, ret);
    } else {
        instance_say(ret, INSTANCE_STARTING, "StartingPods", "%u of %u pods are running, on partition %s",
                     crew->running, workers, inst->record->name);
        say_waiting(view, crew, plan, ret);
        instance_note_step(view, inst, plan, ret);
    }
}
