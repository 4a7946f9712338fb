#include "base/core/mem.h"
#include "operator/api/names.h"
#include "operator/reconcile/decide/instance/instance_partition.h"
#include "operator/reconcile/decide/instance/instance_prerequisites.h"
#include "operator/reconcile/decide/instance/instance_recovery.h"
#include "operator/reconcile/decide/run/hold.h"
#include "operator/reconcile/decide/run/partition_release.h"
#include "operator/reconcile/decide/run/run.h"

/* How long to keep asking the chosen controller for IPUs that it does not have after all. */
#define NO_ROOM_MS 10000

/* ---- before there is a partition ---- */

/* Restarts and starts count over all attempts of an instance. */
static const struct record *latest_record(const struct job_view *view, uint32_t instance)
{
    const struct record *latest = NULL;

    for (size_t i = 0; i < view->tombstone_count; i++) {
        const struct record *record = view->tombstones[i].record;

        if (str_eq(record->job_uid, view->job->uid) && record->instance == instance &&
            (!latest || record->attempt > latest->attempt))
            latest = record;
    }
    return latest;
}

static struct record *new_record(const struct job_view *view, const struct instance_view *inst)
{
    const struct job *job = view->job;
    const struct record *latest = latest_record(view, inst->index);
    struct record *record = NEW(struct record);
    char *id = inst->readable_id_taken || inst->next_attempt > 0
                   ? NULL
                   : name_partition(view->partition_prefix, job->name, job->ns, inst->index);

    if (!id)
        id = job_hashed_partition(job, view->operator_ns, view->partition_prefix, inst->index,
                                  inst->next_attempt);
    record->name = id;
    record->controller = mem_strdup(inst->granted);
    record->place = mem_strdup(inst->place);
    record->job_ns = mem_strdup(job->ns);
    record->job_name = mem_strdup(job->name);
    record->job_uid = mem_strdup(job->uid);
    record->instance = inst->index;
    record->attempt = inst->next_attempt;
    record->start = latest ? latest->start + 1 : 0;
    record->restarts = latest ? latest->restarts : 0;
    record->priority = view->priority;
    record->preemptions = latest ? latest->preemptions : 0;
    record->workers = job->spec.workers_per_instance;
    record->has_launcher = job->spec.has_launcher;
    record->size = job->spec.ipus_per_instance;
    record->gcds = job_gcds(&job->spec);
    record->replicas = job_vipu_replicas(&job->spec);
    record->reconfigurable = job_is_reconfigurable(&job->spec);
    record->limit_s = inst->limit_s;
    record->grace_s = inst->grace_s;
    return record;
}

/* They stay for their logs until their names are needed. Returns whether there are any. */
static bool delete_ended_pods(const struct instance_view *inst, struct plan *plan)
{
    for (size_t i = 0; i < inst->stale_count; i++)
        plan_pod_delete(plan, inst->stale_pods[i]);
    return inst->stale_count > 0;
}

static void claim_partition(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                            struct instance_result *ret)
{
    uint32_t ipus = view->job->spec.ipus_per_instance;
    const struct record *latest = latest_record(view, inst->index);
    const char *preemptor = latest ? latest->preemptor : NULL;

    plan_claim(plan, inst->index, true);
    switch (inst->claim) {
    case CLAIM_GRANTED:
        if (delete_ended_pods(inst, plan)) {
            ret->is_unanswered = true;
            instance_set_result(ret, INSTANCE_STARTING, "StoppingOldPods",
                                "Deleting pods of the previous attempt");
            return;
        }
        plan_add(plan, OP_RECORD_CREATE)->record = new_record(view, inst);
        ret->is_unanswered = true;
        instance_set_result(ret, INSTANCE_STARTING, "CreatingPartition",
                            "Creating a partition of %u %s on V-IPU controller %s", ipus,
                            ipus == 1 ? "IPU" : "IPUs", inst->granted);
        return;
    case CLAIM_WAITING:
        instance_set_result(ret, INSTANCE_WAITING, inst->wait->reason, "%s%s%s%s%s", inst->wait->text,
                            preemptor ? "; preempted by job " : "", preemptor ? preemptor : "",
                            instance_was_rejected(view) ? "; the last start failed: " : "",
                            instance_was_rejected(view) ? view->create_text : "");
        ret->wait = inst->wait;
        return;
    case CLAIM_NONE:
        ret->is_unanswered = true;
        instance_set_result(ret, INSTANCE_WAITING, "Queued", "Waiting in the queue");
        return;
    }
}

/* The partition on which a pod was started was removed. If its record was removed by a user, the pod may
 * still exist: then its program gets its grace period. */
static bool partition_is_removed(const struct job_view *view, const struct pod *pod, struct plan *plan)
{
    int64_t left_s = pod->termination_deadline_s + GRACE_PASSED_S - view->now_unix_s;

    for (size_t i = 0; i < view->tombstone_count; i++) {
        const struct tombstone_view *tomb = &view->tombstones[i];

        if (str_eq(tomb->record->name, pod->partition))
            return tomb->partition.state == PARTITION_ABSENT && !tomb->partition.busy;
    }
    return plan_is_due(plan, view->now_ms, view->now_ms + left_s * 1000);
}

/* A process on that node can no longer reach a partition of the operator. A pod that still exists after the
 * partition was removed and all timeouts have passed is on a node that does not respond: only its name blocks
 * the new pod. Returns whether there are pods that have not ended. */
static bool end_stale_pods(const struct job_view *view, const struct instance_view *inst, struct plan *plan)
{
    bool are_left = false;

    for (size_t i = 0; i < inst->stale_count; i++) {
        const struct pod *pod = inst->stale_pods[i];

        if (pod_is_terminal(pod))
            continue;
        are_left = true;
        if (pod->deleting && !pod_has_stopped(pod, false, false) && partition_is_removed(view, pod, plan))
            plan_pod_drop(plan, pod);
        else
            plan_pod_delete(plan, pod);
    }
    return are_left;
}

void decide_without_record(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                           struct instance_result *ret)
{
    if (end_stale_pods(view, inst, plan)) {
        instance_set_result(ret, INSTANCE_STARTING, "StoppingOldPods",
                            "Waiting for pods of the previous attempt to terminate");
        return;
    }
    if (instance_was_rejected(view) && !plan_is_due(plan, view->now_ms, view->create_retry_at_ms)) {
        instance_set_rejected(view, inst, INSTANCE_WAITING, plan, ret);
        return;
    }
    switch (view->dry_run) {
    case DRY_RUN_NEEDED:
    case DRY_RUN_AWAITED:
        if (view->dry_run == DRY_RUN_NEEDED && !plan_has(plan, OP_DRY_RUN))
            plan_add(plan, OP_DRY_RUN);
        plan_claim(plan, inst->index, false);
        ret->is_unanswered = true;
        instance_set_result(ret, INSTANCE_WAITING, "ValidatingTemplate",
                            "Validating the pod template with the API server");
        return;
    case DRY_RUN_REJECTED:
        if (view->now_ms < view->dry_run_retry_at_ms)
            plan_again_at(plan, view->dry_run_retry_at_ms);
        else if (!plan_has(plan, OP_DRY_RUN))
            plan_add(plan, OP_DRY_RUN);
        instance_set_result(ret, INSTANCE_WAITING, view->dry_run_reason,
                            "The API server rejected the pods: %s", view->dry_run_text);
        ret->is_stuck = true;
        return;
    case DRY_RUN_INVALID:
        instance_set_result(ret, INSTANCE_FAILED, view->dry_run_reason, "%s", view->dry_run_text);
        ret->is_fatal = true;
        return;
    case DRY_RUN_PASSED:
        claim_partition(view, inst, plan, ret);
        return;
    }
}

/* ---- from record to active partition ---- */

/* The free IPUs that were seen are not available after all. Others may be: back into the queue. */
static bool has_no_capacity(const struct job_view *view, const struct instance_view *inst)
{
    return inst->partition.rejection == PARTITION_REJECTED_CAPACITY && !inst->partition.outcome_unknown &&
           inst->record->run == 0 && view->now_ms >= inst->partition_since_ms + NO_ROOM_MS;
}

static void create_partition(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                             struct instance_result *ret)
{
    const struct record *record = inst->record;
    const struct partition_view *partition = &inst->partition;

    if (partition->rejection == PARTITION_REJECTED_INVALID) {
        instance_set_result(ret, INSTANCE_FAILED, "PartitionRejected",
                            "V-IPU controller %s rejected the partition: %s", record->controller,
                            partition->trouble);
        ret->is_fatal = true;
        ret->is_unanswered =
            false; /* this is the answer; unless it is reported, it would be requested again */
        plan_record_delete(plan, record);
        return;
    }
    if (!plan_is_due(plan, view->now_ms, partition->retry_at_ms))
        return;
    if (has_no_capacity(view, inst)) {
        /* No partition was ever created under its first id: it is removed at once, and the id is free for
         * the next try. */
        mem_free(
            instance_stop(view, inst, KEEP_ALL, record->attempt ? RELEASE_FOR_NOW : RELEASE_FOR_GOOD, plan));
        return;
    }
    struct op *op = plan_add(plan, OP_PARTITION_CREATE);
    op->name = mem_strdup(record->name);
    op->record = record_copy(record);
    if (!partition->trouble &&
        !partition->outcome_unknown) { /* counts from the first try, however long the job was queued before */
        ret->is_unanswered = true;
        plan_again_at(plan, view->now_ms + REPORT_AFTER_MS);
    }
}

static bool has_other_shape(const struct instance_view *inst)
{
    const struct partition_view *partition = &inst->partition;

    return partition->state == PARTITION_ACTIVE && partition->size &&
           (partition->size != inst->record->size ||
            (partition->gcds && partition->gcds != inst->record->gcds));
}

bool has_foreign_partition(const struct instance_view *inst, const struct pod_summary *pods)
{
    if (inst->partition.rejection == PARTITION_REJECTED_FOREIGN)
        return true;
    return !inst->partition.made && inst->record->run == 0 && !inst->record->started && pods->present == 0 &&
           has_other_shape(inst);
}

void decide_foreign(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                    struct instance_result *ret)
{
    instance_set_result(ret, INSTANCE_STARTING, "CreatingPartition",
                        "Partition ID %s is in use by another owner; choosing another ID",
                        inst->record->name);
    if (!plan_is_due(plan, view->now_ms, inst->partition_since_ms + REPORT_AFTER_MS))
        ret->is_unanswered = true;
    if (must_back_off(view, inst, plan))
        return;
    plan_record_delete(plan, inst->record)->ready = true;
}

/* V-IPU creates the next one from other IPUs if it has some that work. */
static bool is_beyond_repair(const struct job_view *view, const struct partition_view *partition)
{
    return partition->resets_failing_since_ms &&
           view->now_ms >= partition->resets_failing_since_ms + view->partition_failure_ms;
}

static void reset_partition(const struct job_view *view, const struct instance_view *inst, struct plan *plan)
{
    if (plan_is_due(plan, view->now_ms, inst->partition.retry_at_ms))
        plan_add(plan, OP_PARTITION_RESET)->name = mem_strdup(inst->record->name);
}

static void create_pods(const struct job_view *view, const struct instance_view *inst,
                        const struct pod_summary *pods, struct plan *plan, struct instance_result *ret)
{
    uint32_t workers = view->job->spec.workers_per_instance;

    instance_set_result(ret, INSTANCE_STARTING, "StartingPods", "Starting %u %s on partition %s", workers,
                        workers == 1 ? "pod" : "pods", inst->record->name);
    if (instance_was_rejected(view))
        instance_set_rejected(view, inst, INSTANCE_STARTING, plan, ret);
    else if (view->create_rejected)
        instance_set_result(ret, INSTANCE_STARTING, view->create_reason,
                            "The API server rejected the pods: %s", view->create_text);
    if (view->create_rejected && !plan_is_due(plan, view->now_ms, view->create_retry_at_ms))
        return;
    if (!decide_prerequisites(view, inst, pods, plan))
        return;
    for (uint32_t w = 0; w < workers; w++) {
        if (inst->workers[w].state != WORKER_NEVER_SEEN)
            continue;
        struct op *op = plan_add(plan, OP_POD_CREATE);
        op->instance = inst->index;
        op->worker = w;
        op->name = mem_strdup(inst->record->name);
    }
}

/* The last error stays reported until it is over, so that the status does not change with every retry. */
static void report_partition(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                             struct instance_result *ret)
{
    const struct record *record = inst->record;
    const char *ipus = record->size == 1 ? "IPU" : "IPUs";
    const struct partition_view *partition = &inst->partition;
    bool is_there = partition->state == PARTITION_PENDING || partition->state == PARTITION_ACTIVE ||
                    partition->state == PARTITION_ERROR;

    if (partition->is_broken)
        instance_set_result(ret, INSTANCE_STARTING, "PartitionError",
                            "Resetting partition %s after an error: %s", record->name,
                            partition->trouble ? partition->trouble : "no reason reported");
    else if (partition->rejection == PARTITION_REJECTED_CAPACITY && !is_there)
        instance_set_result(ret, INSTANCE_WAITING, "InsufficientIPUs",
                            "V-IPU controller %s has no capacity for %u %s: %s", record->controller,
                            record->size, ipus,
                            partition->trouble ? partition->trouble : "no reason reported");
    else if (partition->trouble && !is_there)
        instance_set_result(ret, INSTANCE_WAITING, "ControllerUnavailable", "V-IPU controller %s: %s",
                            record->controller, partition->trouble);
    else if (controller_is_unresponsive(view, inst, plan))
        instance_set_result(ret, INSTANCE_STARTING, "ControllerUnavailable",
                            "V-IPU controller %s is not responding while creating partition %s: %s",
                            record->controller, record->name, inst->controller_trouble);
    else if (partition->resets_failing_since_ms)
        instance_set_result(ret, INSTANCE_STARTING, "PartitionError",
                            "Waiting to reset partition %s before starting pods: %s", record->name,
                            partition->trouble ? partition->trouble : "no reason reported");
    else if (instance_was_rejected(view))
        instance_set_rejected(view, inst, INSTANCE_STARTING, plan, ret);
    else
        instance_set_result(ret, INSTANCE_STARTING, "CreatingPartition",
                            "Waiting for V-IPU controller %s to create partition %s (%u %s)",
                            record->controller, record->name, record->size, ipus);
}

void decide_starting(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                     struct plan *plan, struct instance_result *ret)
{
    const struct partition_view *partition = &inst->partition;

    report_partition(view, inst, plan, ret);
    instance_note_step(view, inst, plan, ret);
    if (!plan_is_due(plan, view->now_ms, inst->partition_since_ms + REPORT_AFTER_MS))
        ret->is_unanswered = true;
    if (delete_ended_pods(inst, plan) || partition->busy || partition->state == PARTITION_UNKNOWN ||
        partition->state == PARTITION_PENDING)
        return;
    if (partition->state == PARTITION_ACTIVE && partition->fresh && !has_other_shape(inst))
        create_pods(view, inst, pods, plan, ret);
    else if (pods->present || has_other_shape(inst))
        decide_partition_lost(view, inst, pods, plan, ret);
    else if (view->now_ms < partition->pods_until_ms) /* no reset and no new partition while pods run on it */
        plan_again_at(plan, partition->pods_until_ms);
    else if (partition->state == PARTITION_ABSENT)
        create_partition(view, inst, plan, ret);
    else if (is_beyond_repair(view, partition))
        attempt_begin_next(inst, "PartitionError", pods, plan);
    else
        reset_partition(view, inst, plan);
}
