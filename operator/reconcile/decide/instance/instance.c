#include "operator/reconcile/decide/instance/instance.h"

#include <stdarg.h>

#include "base/core/backoff.h"
#include "base/core/mem.h"
#include "operator/api/reasons.h"
#include "operator/reconcile/decide/instance/instance_parts.h"

void instance_say(struct instance_result *ret, enum instance_phase phase, const char *reason, const char *fmt,
                  ...)
{
    va_list args;

    ret->phase = phase;
    ret->reason = reason;
    mem_free(ret->text);
    va_start(args, fmt);
    ret->text = mem_vprintf(fmt, args);
    va_end(args);
}

void instance_note_step(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                        struct instance_result *ret)
{
    int64_t soon_ms = inst->part_since_ms + TELL_AFTER_MS;
    int64_t until_ms = view->is_busy ? inst->part_since_ms + TELL_AFTER_BUSY_MS : soon_ms;

    if (view->now_ms >= until_ms)
        return;
    ret->is_step = true;
    plan_again_at(plan, view->now_ms < soon_ms ? soon_ms : view->now_ms + TELL_AFTER_MS);
}

bool begins_too_soon(const struct job_view *view, const struct instance_view *inst, struct plan *plan)
{
    static const struct backoff pace = {.first_ms = 500, .max_ms = 60000};
    uint32_t before = inst->record->attempt + inst->record->run;

    return before > 1 &&
           !plan_is_due(plan, view->now_ms, inst->run_since_ms + backoff_delay_ms(&pace, before - 1, 0));
}

bool instance_was_refused(const struct job_view *view)
{
    return view->create_refused && reason_is_warning(view->create_reason);
}

void instance_say_refused(const struct job_view *view, const struct instance_view *inst,
                          enum instance_phase phase, struct plan *plan, struct instance_result *ret)
{
    instance_say(
        ret, phase, view->create_reason,
        "The API server does not take all pods of instance %u, which gives its IPUs back until it is "
        "tried again: %s",
        inst->index, view->create_text);
    ret->is_stuck = true;
    if (!plan_is_due(plan, view->now_ms, view->create_refused_ms + TELL_AFTER_MS))
        ret->is_unanswered = true;
}

static void report_pods(const struct crew *crew, struct instance_result *ret)
{
    ret->active = crew->running;
    ret->succeeded = crew->succeeded;
    ret->failed = crew->failed;
    ret->failure = crew->failure;
}

void instance_count_pods(const struct job_view *view, const struct instance_view *inst,
                         struct instance_result *ret)
{
    struct crew crew = {0};

    crew_sum_up(view, inst, &crew);
    for (size_t i = 0; i < inst->stale_count; i++) { /* of an ended instance, whose record has gone */
        if (inst->stale_pods[i]->worker >= view->job->spec.workers_per_instance)
            continue;
        crew.succeeded += inst->stale_pods[i]->phase == POD_SUCCEEDED;
        crew.failed += inst->stale_pods[i]->phase == POD_FAILED;
    }
    report_pods(&crew, ret);
}

static int64_t when_failed_s(const struct failure *failure)
{
    bool has_ended = failure->pod && failure->pod->finished_s;

    return has_ended ? failure->pod->finished_s : failure->at_s;
}

static void decide_crew(const struct job_view *view, const struct instance_view *inst, enum turnover turnover,
                        struct crew *crew, struct plan *plan, struct instance_result *ret)
{
    bool failed = crew->failure.reason != NULL;
    bool restarts = failed && wants_restart(&view->job->spec, inst->record, &crew->judged);
    bool is_unsure = crew->never_seen && !inst->part.quiet;

    if (crew->launcher_done)
        decide_launcher_done(view, inst, crew, plan, ret);
    else if (failed && decide_awaits_end(view, crew, plan, ret))
        return;
    else if (failed && !restarts)
        decide_failed(view, inst, crew, plan, ret);
    else if (has_foreign_partition(inst, crew))
        decide_foreign(view, inst, plan, ret);
    else if (crew->lost)
        decide_lost(view, inst, crew, plan, ret);
    else if (is_unsure && (inst->part.state == PART_ACTIVE || inst->part.state == PART_ERROR))
        decide_interrupted(view, inst, crew, plan, ret);
    else if (is_unsure)
        decide_starting(view, inst, crew, plan, ret);
    else if (is_refused_in_part(inst, crew))
        decide_refused(view, inst, crew, plan, ret);
    else if (turnover != TURNOVER_NONE && crew->succeeded < view->job->spec.workers_per_instance)
        decide_replaced(view, inst, turnover, crew, plan, ret);
    else if (failed)
        decide_restart(view, inst, crew, when_failed_s(&crew->failure), plan, ret);
    else if (has_broken_partition(view, inst, crew, plan))
        decide_broken(view, inst, crew, plan, ret);
    else if (inst->keys == KEYS_LOST)
        decide_keys_lost(view, inst, crew, plan, ret);
    else if (crew->gone)
        decide_comes_back(view, inst, crew, plan, ret);
    else if (crew->never_seen)
        decide_starting(view, inst, crew, plan, ret);
    else if (view->job->spec.has_launcher)
        decide_launch(view, inst, crew, plan, ret);
    else
        decide_running(view, inst, crew, plan, ret);
}

void instance_decide(const struct job_view *view, const struct instance_view *inst, enum turnover turnover,
                     struct plan *plan, struct instance_result *ret)
{
    struct crew crew = {0};

    *ret = (struct instance_result){0};
    if (!inst->record) {
        decide_without_record(view, inst, plan, ret);
        return;
    }
    crew_sum_up(view, inst, &crew);
    report_pods(&crew, ret);
    /* After a start of the operator the first list is still to come; what was started is believed until then.
     */
    ret->has_partition =
        inst->part.state == PART_ACTIVE || (inst->part.state == PART_UNKNOWN && inst->record->started);
    if (crew_note_disruption(inst, &crew, plan)) {
        instance_say(ret, INSTANCE_ENDING, "Ending", "A pod of instance %u is being taken away", inst->index);
        ret->is_unanswered = true; /* what follows from it is told when it is written down */
        if (view->write_refused)
            ret->failure = (struct failure){0};
    } else {
        decide_crew(view, inst, turnover, &crew, plan, ret);
    }
    note_silent_controller(view, inst, plan, ret);
    if (!inst->record->started && !crew.never_seen && !crew.record_changed)
        crew_change_record(inst, &crew, plan)->started = true;
    if (crew.patience_ms)
        plan_again_at(plan, crew.patience_ms);
}
