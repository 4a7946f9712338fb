#include "base/core/mem.h"
#include "operator/api/names.h"
#include "operator/reconcile/decide/instance/instance_parts.h"

/* Never reset, never reuse the id: hold the partition for a while, then remove it. The removal is the fence.
 */
void decide_lost(const struct job_view *view, const struct instance_view *inst, struct crew *crew,
                 struct plan *plan, struct instance_result *ret)
{
    const struct worker_view *lost = crew->lost;
    int64_t until = lost->since_ms + view->hold_ms;
    AUTO(mem)
    char *name =
        lost->pod_name ? mem_strdup(lost->pod_name) : job_pod_name(view->job, inst->index, crew->lost_index);

    crew_delete(view, inst, plan);
    instance_say(ret, INSTANCE_HOLDING, "ProcessMayStillRun",
                 "Pod %s on node %s %s; partition %s is held because its processes may still run", name,
                 lost->node ? lost->node : "unknown",
                 lost->state == WORKER_PRESENT ? "does not end" : "vanished without having ended",
                 inst->record->name);
    if (view->now_ms < until)
        plan_again_at(plan, until);
    else if (crew->noisy == 0) /* the others had their own time to go */
        crew_begin_next_attempt(inst, "ProcessMayStillRun", crew, plan);
}

/* A crash came between the creation of pods and the note that they exist. What may have run meanwhile is cut
 * off by removing the partition; a new id is used. */
void decide_interrupted(const struct job_view *view, const struct instance_view *inst, struct crew *crew,
                        struct plan *plan, struct instance_result *ret)
{
    crew_delete(view, inst, plan);
    instance_say(ret, INSTANCE_STARTING, "Recovering",
                 "The operator was interrupted while it started pods; starting afresh");
    if (crew->noisy == 0)
        crew_begin_next_attempt(inst, "Interrupted", crew, plan);
}

/* It was there when the first pods were created and is not what it was: nothing can be said of those pods. */
void decide_partition_lost(const struct job_view *view, const struct instance_view *inst, struct crew *crew,
                           struct plan *plan, struct instance_result *ret)
{
    crew_delete(view, inst, plan);
    instance_say(
        ret, INSTANCE_STARTING, "PartitionLost",
        "Partition %s was changed by somebody else or broke while its pods were started; starting afresh",
        inst->record->name);
    if (crew->noisy == 0 && !begins_too_soon(view, inst, plan))
        crew_begin_next_attempt(inst, "PartitionLost", crew, plan);
}

bool is_refused_in_part(const struct instance_view *inst, const struct crew *crew)
{
    const struct record *record = inst->record;
    bool misses_launcher = record->launched && inst->workers[record->workers].state == WORKER_NEVER_SEEN;

    return inst->is_refused && (crew->never_seen || misses_launcher);
}

/* A pod whose name is taken may be our own: made by a request whose answer was lost, and not seen yet. Then
 * its process knows the id. */
static const char *why_refused(const struct job_view *view, const struct record *record)
{
    if (str_eq(view->create_reason, "NameTaken"))
        return "Interrupted";
    return record->restarts ? RECORD_REFUSED : RECORD_GIVEN_BACK;
}

/* Those that are there would wait for the others for ever, with IPUs that somebody else could use. Restarts
 * are counted in the record, so one that has some stays. */
void decide_refused(const struct job_view *view, const struct instance_view *inst, struct crew *crew,
                    struct plan *plan, struct instance_result *ret)
{
    bool is_over = crew_is_over(view, inst, crew, plan);

    crew_delete(view, inst, plan);
    if (is_over)
        crew_begin_next_attempt(inst, why_refused(view, inst->record), crew, plan);
    instance_say_refused(view, inst, is_over ? INSTANCE_WAITING : INSTANCE_STARTING, plan, ret);
}

/* ---- while pods run ---- */

static bool is_broken(const struct part_view *part)
{
    return part->state == PART_ERROR || part->state == PART_ABSENT;
}

bool has_broken_partition(const struct job_view *view, const struct instance_view *inst,
                          const struct crew *crew, struct plan *plan)
{
    int64_t until = inst->part.since_ms + view->trouble_ms;

    if (!inst->record->started || crew->succeeded == view->job->spec.workers_per_instance ||
        !is_broken(&inst->part) || inst->part.busy)
        return false;
    return plan_is_due(plan, view->now_ms, until);
}

static char *tell_broken(const struct instance_view *inst)
{
    const struct part_view *part = &inst->part;

    if (part->state == PART_ABSENT)
        return mem_printf("Partition %s was removed at V-IPU controller %s by somebody else, or lost by it",
                          inst->record->name, inst->record->controller);
    return mem_printf("Partition %s is in error: %s", inst->record->name,
                      part->trouble ? part->trouble : "V-IPU gives no reason");
}

/* What the partition needs - a reset, or to be made again - the next run does before its pods start. */
void decide_broken(const struct job_view *view, const struct instance_view *inst, struct crew *crew,
                   struct plan *plan, struct instance_result *ret)
{
    const struct failure failure = {.reason = inst->part.state == PART_ERROR ? "PartitionError"
                                                                             : "PartitionMissing"};
    AUTO(mem) char *text = tell_broken(inst);

    if (!wants_restart(&view->job->spec, inst->record, &failure)) {
        instance_say(ret, INSTANCE_FAILED, failure.reason, "%s", text);
        return;
    }
    instance_say(ret, INSTANCE_RESTARTING, failure.reason,
                 "%s; instance %u is being restarted (%u of at most %u)", text, inst->index,
                 inst->record->restarts + 1, view->job->spec.backoff_limit);
    crew_delete(view, inst, plan);
    if (crew_is_over(view, inst, crew, plan))
        crew_begin_next_run(inst, crew, plan)->restarts = inst->record->restarts + 1;
}

/* A short silence is no news. */
bool controller_is_silent(const struct job_view *view, const struct instance_view *inst, struct plan *plan)
{
    return inst->controller_trouble &&
           plan_is_due(plan, view->now_ms, inst->controller_trouble_ms + view->trouble_ms);
}

/* The pods run on: V-IPU is not asked while they do. Only who lives through it for long is told. */
void note_silent_controller(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                            struct instance_result *ret)
{
    ret->has_silent_controller = ret->has_partition && controller_is_silent(view, inst, plan);
}
