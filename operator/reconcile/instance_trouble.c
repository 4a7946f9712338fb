#include "base/core/mem.h"
#include "operator/api/names.h"
#include "operator/reconcile/instance_parts.h"

/* Never reset, never reuse the id: hold the partition for a while, then remove it. The removal is the fence.
 */
void decide_lost(const struct job_view *view, const struct instance_view *inst, struct crew *crew,
                 struct plan *plan, struct instance_result *ret)
{
    const struct worker_view *lost = crew->lost;
    int64_t until = lost->since_ms + view->hold_ms;
    AUTO(mem)
    char *name = lost->pod_name
                     ? mem_strdup(lost->pod_name)
                     : name_worker_pod(view->job->name,
                                       inst->index * view->job->spec.workers_per_instance + crew->lost_index);

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
    if (crew->noisy == 0)
        crew_begin_next_attempt(inst, "PartitionLost", crew, plan);
}
