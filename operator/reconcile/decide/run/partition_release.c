#include "operator/reconcile/decide/run/partition_release.h"

#include "base/core/mem.h"
#include "operator/api/names.h"
#include "operator/reconcile/decide/run/hold.h"
#include "operator/reconcile/decide/run/run.h"

/* A process whose end was not observed knows the id of its partition as long as it lives. It is cut off when
 * the partition is removed, and would find the next one with that id. So the id is not reused until the pods
 * are known to have ended; or for a day, after which no node is expected back. */
#define QUARANTINE_S 86400
/* Likewise when an earlier process may have requested, just before its end, the removal that this one has
 * carried out: that request would hit the next partition with the id. Longer than a request can take. */
#define LATE_REQUEST_S 40

/* The next process must know that the partition is being removed, and not use it again. */
static void mark_releasing(const struct record *record, const struct partition_view *partition,
                           const char *reason, struct plan *plan)
{
    struct record *next = record_copy(record);

    next->releasing = true;
    next->outcome_unknown = next->outcome_unknown || partition->outcome_unknown;
    mem_set_str(&next->reason, reason);
    plan_add(plan, OP_RECORD_PATCH)->record = next;
}

/* ---- ids ---- */

/* It was released although a process of it may be running. */
static bool is_fenced(const struct record *record)
{
    return record->releasing &&
           (str_eq(record->reason, "TerminationUnconfirmed") || str_eq(record->reason, "Interrupted"));
}

/* Only an id without the job's uid in it can later be another job's. */
static bool needs_quarantine(const struct job_view *view, const struct tombstone_view *tomb)
{
    const struct record *record = tomb->record;
    /* A repeated request may create a pod after its partition was released. */
    bool may_be_found = (is_fenced(record) || tomb->has_running_pod) && !tomb->is_over;
    bool may_be_hit = view->now_ms < tomb->partition.removal_until_ms;

    return (may_be_found || may_be_hit) && !name_is_hashed(record->name, record->job_uid, view->operator_ns,
                                                           record->instance, record->attempt);
}

static void mark_quarantined(const struct job_view *view, const struct tombstone_view *tomb,
                             struct plan *plan)
{
    struct record *spent = record_copy(tomb->record);

    spent->spent_s = view->now_unix_s;
    if (tomb->has_running_pod)
        mem_set_str(&spent->reason, "TerminationUnconfirmed");
    else if (!spent->releasing)
        mem_set_str(&spent->reason, RECORD_RELEASED);
    spent->releasing = true;
    plan_add(plan, OP_RECORD_PATCH)->record = spent;
}

/* Until then something is left: an admin who reads that nothing is held may stop the operator at once. */
static char *close_record(const struct job_view *view, const struct tombstone_view *tomb, struct plan *plan)
{
    if (needs_quarantine(view, tomb))
        mark_quarantined(view, tomb, plan);
    else
        plan_record_delete(plan, tomb->record);
    return mem_printf("partition %s released; deleting its record", tomb->record->name);
}

static void decide_quarantined(const struct job_view *view, const struct tombstone_view *tomb,
                               struct plan *plan)
{
    const struct record *record = tomb->record;
    bool waits_for_pods = is_fenced(record) && !tomb->is_over;
    int64_t left_s = record->spent_s + (waits_for_pods ? QUARANTINE_S : LATE_REQUEST_S) - view->now_unix_s;

    if (left_s <= 0)
        plan_record_delete(plan, tomb->record);
    else
        plan_again_at(plan, view->now_ms + left_s * 1000);
}

/* ---- partitions ---- */

/* Removes the partition, then its record. Callers have checked that its pods have stopped. */
static char *release_partition(const struct job_view *view, const struct tombstone_view *tomb,
                               enum release release, struct plan *plan)
{
    const struct record *record = tomb->record;
    const struct partition_view *partition = &tomb->partition;

    switch (partition->state) {
    case PARTITION_UNKNOWN:
        return mem_printf("waiting for V-IPU controller %s to report partition %s%s%s", record->controller,
                          record->name, partition->trouble ? ": " : "",
                          partition->trouble ? partition->trouble : "");
    case PARTITION_ABSENT:
        if (partition->busy)
            break;
        if (partition->outcome_unknown) {
            if (view->now_ms < partition->settle_at_ms)
                plan_again_at(plan, partition->settle_at_ms);
            return mem_printf(
                "waiting for an earlier request for partition %s to expire on V-IPU controller %s",
                record->name, record->controller);
        }
        /* The record's number says which ids were used; and a removal may be slow, and must not hit a
         * partition that is used again. */
        if (!record->releasing && release != RELEASE_FOR_GOOD) {
            mark_releasing(record, partition, RECORD_RELEASED, plan);
            break;
        }
        if (release == RELEASE_KEEPS_ID)
            return NULL;
        if ((record->has_launcher || tomb->has_vipu_access) && view->job && !view->job->deleting)
            /* else the pods are deleted with the job */
            plan_keys_delete(plan, record);
        return close_record(view, tomb, plan);
    case PARTITION_PENDING:
    case PARTITION_ACTIVE:
    case PARTITION_ERROR:
        if (partition->busy)
            break;
        if (!record->releasing && release != RELEASE_FOR_GOOD) {
            mark_releasing(record, partition, RECORD_RELEASED, plan);
            break;
        }
        if (!plan_is_due(plan, view->now_ms, partition->retry_at_ms))
            break;
        plan_add(plan, OP_PARTITION_REMOVE)->name = mem_strdup(record->name);
        break;
    }
    return mem_printf("releasing partition %s on V-IPU controller %s%s%s", record->name, record->controller,
                      partition->trouble ? "; last response: " : "",
                      partition->trouble ? partition->trouble : "");
}

/* The removal of the partition is the fence. */
static char *begin_release(const struct record *record, const struct partition_view *partition,
                           const char *reason, struct plan *plan)
{
    mark_releasing(record, partition, reason, plan);
    return mem_printf("releasing partition %s on V-IPU controller %s", record->name, record->controller);
}

/* The one that was noticed last. */
static void note_hold(const struct worker_view *worker, struct tombstone_view *tomb)
{
    struct hold hold = hold_of_worker(tomb->record, worker);

    if (tomb->is_held && worker->since_ms <= tomb->hold_since_ms)
        return;
    tomb->is_held = true;
    tomb->hold_since_ms = hold.since_ms;
    tomb->grace_ends_s = hold.grace_ends_s;
    tomb->held_for_pod = hold.pod;
    tomb->held_for_node = hold.node;
}

/* Notes a pod whose processes may still run although no node reports them. */
static void note_worker(const struct worker_view *worker, struct tombstone_view *tomb)
{
    bool has_stopped =
        worker->state == WORKER_PRESENT && pod_has_stopped(worker->pod, false, worker->node_fenced);
    bool is_lost = worker->state == WORKER_GONE_UNKNOWN || worker->may_have_started_unseen;

    if (worker->state == WORKER_PRESENT && !has_stopped) {
        tomb->has_running_pod = true;
        is_lost = worker->pod->deleting; /* its node may never answer */
        tomb->all_stopped = tomb->all_stopped && is_lost;
    }
    if (!has_stopped && worker->state != WORKER_GONE_STOPPED)
        tomb->is_over = false;
    if (is_lost && !tomb->released_by_admin)
        note_hold(worker, tomb);
}

void tombstone_sum_up(const struct worker_view *workers, struct tombstone_view *tomb)
{
    const struct record *record = tomb->record;
    bool is_there = tomb->partition.state == PARTITION_ACTIVE || tomb->partition.state == PARTITION_ERROR;

    tomb->all_stopped = tomb->is_over = true;
    for (uint32_t i = 0; i < record_pod_count(record); i++) {
        bool is_never_seen = workers[i].state == WORKER_NEVER_SEEN;

        if (is_never_seen && i >= record->workers && !record->launched)
            continue; /* it is noted before it is made */
        note_worker(&workers[i], tomb);
        if (is_never_seen && i < record->workers)
            tomb->may_have_started_unseen = is_there && !record->started && !tomb->partition.quiet;
    }
    tomb->is_over = tomb->is_over || tomb->released_by_admin;
}

char *tombstone_decide(const struct job_view *view, const struct tombstone_view *tomb, enum release release,
                       struct plan *plan)
{
    const struct record *record = tomb->record;
    const struct hold hold = {.partition = record->name,
                              .pod = tomb->held_for_pod,
                              .node = tomb->held_for_node,
                              .since_ms = tomb->hold_since_ms,
                              .grace_ends_s = tomb->grace_ends_s};

    if (record->spent_s) {
        decide_quarantined(view, tomb, plan);
        return NULL;
    }
    /* A record is marked as releasing only after the hold, or when removal itself is the fence. */
    if (record->releasing)
        return release_partition(view, tomb, release, plan);
    if (!tomb->all_stopped || (tomb->is_held && !hold_is_over(view, &tomb->partition, &hold, plan)))
        return mem_printf("waiting for pods on partition %s to terminate", record->name);
    if (tomb->is_held)
        return begin_release(record, &tomb->partition, "TerminationUnconfirmed", plan);
    if (tomb->may_have_started_unseen)
        return begin_release(record, &tomb->partition, "Interrupted", plan);
    return release_partition(view, tomb, release, plan);
}

static bool keeps_pod(const struct job_view *view, enum keep keep, const struct pod *pod)
{
    bool is_launcher = pod->worker >= view->job->spec.workers_per_instance;

    return keep == KEEP_ALL || (keep == KEEP_LAUNCHERS && is_launcher);
}

void end_pod(const struct job_view *view, enum keep keep, const struct pod *pod, struct plan *plan)
{
    if (!keeps_pod(view, keep, pod))
        plan_pod_delete(plan, pod);
    else if (!pod_is_terminal(pod))
        run_stop_pod(view, pod, plan);
}

/* An existing pod: returns whether it is lost, because its deletion began long ago. */
static bool stop_worker(const struct job_view *view, const struct worker_view *worker, enum keep keep,
                        struct plan *plan, struct tombstone_view *tomb)
{
    end_pod(view, keep, worker->pod, plan);
    if (pod_has_stopped(worker->pod, false, worker->node_fenced))
        return false;
    if (worker->pod->deleting && tomb->record) {
        struct hold hold = hold_of_worker(tomb->record, worker);

        if (hold_is_over(view, &tomb->partition, &hold, plan))
            return true;
    }
    tomb->all_stopped = false;
    return false;
}

/* Sums up the workers of an instance that ends, for tombstone_decide. */
static void sum_up_workers(const struct job_view *view, const struct instance_view *inst, enum keep keep,
                           struct plan *plan, struct tombstone_view *tomb)
{
    tomb->all_stopped = true;
    for (uint32_t i = 0; i < job_pods_per_instance(&view->job->spec); i++) {
        const struct worker_view *worker = &inst->workers[i];
        bool is_lost = worker->state == WORKER_GONE_UNKNOWN || worker->may_have_started_unseen;

        if (worker->state == WORKER_PRESENT)
            is_lost = stop_worker(view, worker, keep, plan, tomb);
        if (is_lost && tomb->record)
            note_hold(worker, tomb);
    }
}

/* A process that crashed before it could record it may have created pods that no watch has shown. */
static bool may_have_started_unseen(const struct job_view *view, const struct instance_view *inst)
{
    if (inst->record->started || inst->partition.quiet)
        return false;
    for (uint32_t w = 0; w < view->job->spec.workers_per_instance; w++) {
        if (inst->workers[w].state == WORKER_NEVER_SEEN)
            return inst->partition.state == PARTITION_ACTIVE || inst->partition.state == PARTITION_ERROR;
    }
    return false;
}

/* Of a pod that is waited for, where no kubelet reports its end; else NULL. */
static const struct worker_view *find_silent(const struct job_view *view, const struct instance_view *inst)
{
    for (uint32_t i = 0; i < job_pods_per_instance(&view->job->spec); i++) {
        const struct worker_view *worker = &inst->workers[i];

        if (worker->state == WORKER_PRESENT && worker->pod->node_not_ready && !worker->node_fenced)
            return worker;
    }
    return NULL;
}

static char *describe_waiting(const struct job_view *view, const struct instance_view *inst)
{
    const struct worker_view *silent = find_silent(view, inst);
    AUTO(mem) char *node = silent ? pod_describe_silent_node(silent->pod) : NULL;

    return mem_printf("waiting for pods of instance %u to terminate%s%s%s%s", inst->index,
                      node ? "; node " : "", node ? silent->node : "", node ? " " : "", node ? node : "");
}

char *instance_stop(const struct job_view *view, const struct instance_view *inst, enum keep keep,
                    enum release release, struct plan *plan)
{
    struct tombstone_view tomb = {
        .record = inst->record, .partition = inst->partition, .has_vipu_access = inst->needs_vipu_access};

    for (size_t i = 0; i < inst->stale_count; i++)
        end_pod(view, keep, inst->stale_pods[i], plan);
    sum_up_workers(view, inst, keep, plan, &tomb);
    if (!inst->record)
        return NULL;
    if (!tomb.all_stopped)
        return describe_waiting(view, inst);
    tomb.may_have_started_unseen = may_have_started_unseen(view, inst);
    return tombstone_decide(view, &tomb, release, plan);
}

/* The record of an attempt that failed stays until a later attempt has one: it keeps the id from being used
 * again, which a process that still runs could find, and it counts attempts and restarts. */
static bool keeps_id(const struct job_view *view, const struct record *record,
                     const struct job_verdict *verdict)
{
    const struct instance_view *inst = view_live(view, record->instance);
    bool has_successor = inst && inst->record;
    bool ended_well = record->attempt == 0 && str_eq(record->reason, RECORD_RELEASED);

    return record->releasing && !ended_well && !has_successor &&
           !indexset_has(&verdict->done, record->instance) &&
           !indexset_has(&verdict->broken, record->instance);
}

enum release release_of(const struct job_view *view, const struct record *record,
                        const struct job_verdict *verdict)
{
    if (!verdict || !str_eq(record->job_uid, view->job->uid))
        return RELEASE_FOR_GOOD;
    return keeps_id(view, record, verdict) ? RELEASE_KEEPS_ID : RELEASE_FOR_NOW;
}
