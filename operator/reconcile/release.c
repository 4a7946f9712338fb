#include "operator/reconcile/instance.h"

#include "base/core/mem.h"

/* Removes the partition, then its record. Nothing here asks whether it is quiet: the callers have. */
static char *give_back(const struct job_view *view, const struct record *record, const struct part_view *part,
                       bool keeps_record, struct plan *plan)
{
    switch (part->state) {
    case PART_UNKNOWN:
        return mem_printf("V-IPU controller %s has not told whether partition %s is there%s%s",
                          record->controller, record->name, part->trouble ? ": " : "",
                          part->trouble ? part->trouble : "");
    case PART_ABSENT:
        if (part->busy)
            break;
        if (part->unsettled && view->now_ms < part->settle_at_ms) {
            plan_again_at(plan, part->settle_at_ms);
            return mem_printf("a request about partition %s may still arrive at V-IPU controller %s",
                              record->name, record->controller);
        }
        if (keeps_record)
            return NULL;
        struct op *gone = plan_add(plan, OP_RECORD_DELETE);
        gone->name = mem_strdup(record->name);
        gone->uid = mem_strdup(record->uid);
        break;
    case PART_PENDING:
    case PART_ACTIVE:
    case PART_ERROR:
        if (part->busy)
            break;
        if (view->now_ms < part->retry_at_ms) {
            plan_again_at(plan, part->retry_at_ms);
            break;
        }
        plan_add(plan, OP_PARTITION_REMOVE)->name = mem_strdup(record->name);
        break;
    }
    return mem_printf("partition %s is being given back to V-IPU controller %s%s%s", record->name,
                      record->controller, part->trouble ? "; last answer: " : "",
                      part->trouble ? part->trouble : "");
}

char *tombstone_decide(const struct job_view *view, const struct tombstone_view *tomb, bool keeps_record,
                       struct plan *plan)
{
    const struct record *record = tomb->record;
    int64_t until = tomb->hold_since_ms + view->hold_ms;

    /* A record is marked as releasing only after the hold, or when removal itself is the fence. */
    if (!record->releasing && tomb->held && view->now_ms < until) {
        plan_again_at(plan, until);
        return mem_printf("partition %s is held because a process of %s may still run", record->name,
                          tomb->held_by);
    }
    if (!record->releasing && !tomb->held && !tomb->all_quiet)
        return mem_printf("pods that use partition %s are still running", record->name);
    return give_back(view, record, &tomb->part, keeps_record, plan);
}

/* A pod that is there: returns whether it is lost, because it was asked to go long ago. */
static bool stop_worker(const struct job_view *view, const struct worker_view *worker, bool keep_finished,
                        struct plan *plan, struct tombstone_view *tomb)
{
    int64_t until = worker->since_ms + view->hold_ms;

    if (!keep_finished || !pod_is_terminal(worker->pod))
        plan_pod_delete(plan, worker->pod);
    if (pod_is_quiet(worker->pod, false, worker->node_fenced))
        return false;
    if (worker->pod->deleting && view->now_ms >= until)
        return true;
    if (worker->pod->deleting)
        plan_again_at(plan, until);
    tomb->all_quiet = false;
    return false;
}

/* Sums up the workers of an instance that ends, as tombstone_decide wants to know it. */
static void sum_up_workers(const struct job_view *view, const struct instance_view *inst, bool keep_finished,
                           struct plan *plan, struct tombstone_view *tomb)
{
    tomb->all_quiet = true;
    for (uint32_t w = 0; w < view->job->spec.workers_per_instance; w++) {
        const struct worker_view *worker = &inst->workers[w];
        bool is_lost = worker->state == WORKER_GONE_UNKNOWN ||
                       (worker->state == WORKER_NEVER_SEEN && inst->record && inst->record->started);

        if (worker->state == WORKER_PRESENT)
            is_lost = stop_worker(view, worker, keep_finished, plan, tomb);
        if (is_lost && (!tomb->held || worker->since_ms > tomb->hold_since_ms)) {
            tomb->held = true;
            tomb->hold_since_ms = worker->since_ms;
            tomb->held_by = worker->pod_name ? worker->pod_name : "a pod that vanished unseen";
        }
    }
}

char *instance_stop(const struct job_view *view, const struct instance_view *inst, bool keep_finished,
                    struct plan *plan)
{
    struct tombstone_view tomb = {.record = inst->record, .part = inst->part};

    for (size_t i = 0; i < inst->stale_count; i++) {
        if (!keep_finished || !pod_is_terminal(inst->stale_pods[i]))
            plan_pod_delete(plan, inst->stale_pods[i]);
    }
    sum_up_workers(view, inst, keep_finished, plan, &tomb);
    if (!inst->record)
        return NULL;
    if (!tomb.all_quiet)
        return mem_printf("pods of instance %u are being stopped", inst->index);
    return tombstone_decide(view, &tomb, false, plan);
}
