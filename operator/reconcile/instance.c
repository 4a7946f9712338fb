#include "operator/reconcile/instance.h"

#include <stdarg.h>

#include "base/core/mem.h"
#include "operator/api/names.h"

/* A partition is often there, and its pods too, before anybody could have read that they are being made. */
#define TELL_AFTER_MS 1000

/* A restart waits 10 s after the first failure, twice as long after each further one, at most 5 min. */
#define RESTART_FIRST_S 10
#define RESTART_MAX_S 300

static void say(struct instance_result *ret, enum instance_phase phase, const char *reason, const char *fmt,
                ...) __attribute__((format(printf, 4, 5)));

static void say(struct instance_result *ret, enum instance_phase phase, const char *reason, const char *fmt,
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

/* ---- summing up ---- */

/* The pods of one run. A pod that is cut short by a deletion is neither succeeded nor failed: it counts as
 * gone, however its containers take it. */
struct crew {
    uint32_t present, never_seen, gone;
    uint32_t running, succeeded, failed;
    uint32_t noisy; /* present, may still run, and is not lost */
    const struct pod *failed_pod, *waiting_pod;
    const struct worker_view *lost; /* the one whose processes may live on, noticed last */
    uint32_t lost_index;
    int64_t patience_ms; /* when the first that was asked to go counts as lost; 0: none */
    bool record_changed;
};

/* The record to be, for the caller to change: one patch in a plan, so that none overtakes another. */
static struct record *change_record(const struct instance_view *inst, struct crew *crew, struct plan *plan)
{
    struct record *next = record_copy(inst->record);

    next->unsettled = next->unsettled || inst->part.unsettled; /* known to whoever comes after a crash */
    plan_add(plan, OP_RECORD_PATCH)->record = next;
    crew->record_changed = true;
    return next;
}

static void begin_next_run(const struct instance_view *inst, struct crew *crew, struct plan *plan)
{
    struct record *next = change_record(inst, crew, plan);

    next->run++;
    next->started = false;
    next->restarts += crew->failed > 0 || crew->succeeded == inst->record->workers;
}

/* A partition that cannot be used again goes; the instance gets another, under another id. */
static void begin_next_attempt(const struct instance_view *inst, const char *reason, struct crew *crew,
                               struct plan *plan)
{
    struct record *next = change_record(inst, crew, plan);

    next->releasing = true;
    mem_set_str(&next->reason, reason);
    next->restarts += crew->failed > 0;
}

static bool is_earlier(const struct pod *a, const struct pod *b)
{
    return !b || (a->failed_s && a->failed_s < b->failed_s);
}

static void sum_up_end(const struct pod *pod, struct crew *crew)
{
    if (pod->cut_short) {
        crew->gone++;
    } else if (pod->phase == POD_SUCCEEDED) {
        crew->succeeded++;
    } else if (pod->phase == POD_FAILED) {
        crew->failed++;
        if (is_earlier(pod, crew->failed_pod))
            crew->failed_pod = pod;
    }
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

static void sum_up(const struct job_view *view, const struct instance_view *inst, struct crew *crew)
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
            break;
        case WORKER_GONE_UNKNOWN:
            is_lost = true;
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
}

static void report_pods(const struct crew *crew, struct instance_result *ret)
{
    ret->active = crew->running;
    ret->succeeded = crew->succeeded;
    ret->failed = crew->failed;
    ret->failed_pod = crew->failed_pod;
}

void instance_count_pods(const struct job_view *view, const struct instance_view *inst,
                         struct instance_result *ret)
{
    struct crew crew = {0};

    sum_up(view, inst, &crew);
    for (size_t i = 0; i < inst->stale_count; i++) { /* of an ended instance, whose record has gone */
        crew.succeeded += inst->stale_pods[i]->phase == POD_SUCCEEDED;
        crew.failed += inst->stale_pods[i]->phase == POD_FAILED;
    }
    report_pods(&crew, ret);
}

static void delete_present(const struct job_view *view, const struct instance_view *inst, bool also_finished,
                           struct plan *plan)
{
    for (uint32_t w = 0; w < view->job->spec.workers_per_instance; w++) {
        const struct worker_view *worker = &inst->workers[w];

        if (worker->state == WORKER_PRESENT && (also_finished || !pod_is_terminal(worker->pod)))
            plan_pod_delete(plan, worker->pod);
    }
}

/* ---- before there is a partition ---- */

/* Restarts count over all attempts of an instance. */
static uint32_t restarts_so_far(const struct job_view *view, uint32_t instance)
{
    const struct record *latest = NULL;

    for (size_t i = 0; i < view->tombstone_count; i++) {
        const struct record *record = view->tombstones[i].record;

        if (str_eq(record->job_uid, view->job->uid) && record->instance == instance &&
            (!latest || record->attempt > latest->attempt))
            latest = record;
    }
    return latest ? latest->restarts : 0;
}

static struct record *new_record(const struct job_view *view, const struct instance_view *inst)
{
    const struct job *job = view->job;
    struct record *record = NEW(struct record);
    char *id = inst->readable_taken || inst->next_attempt > 0
                   ? NULL
                   : name_partition(view->partition_prefix, job->name, job->ns, inst->index);

    if (!id)
        id = name_partition_hashed(view->partition_prefix, job->name, job->uid, inst->index,
                                   inst->next_attempt);
    record->name = id;
    record->controller = mem_strdup(inst->granted);
    record->job_ns = mem_strdup(job->ns);
    record->job_name = mem_strdup(job->name);
    record->job_uid = mem_strdup(job->uid);
    record->instance = inst->index;
    record->attempt = inst->next_attempt;
    record->restarts = restarts_so_far(view, inst->index);
    record->workers = job->spec.workers_per_instance;
    record->size = job->spec.ipus_per_instance;
    record->gcds = job_gcds(&job->spec);
    record->replicas = job_vipu_replicas(&job->spec);
    record->reconfigurable = job_is_reconfigurable(&job->spec);
    return record;
}

static void claim_partition(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                            struct instance_result *ret)
{
    plan_claim(plan, inst->index, true);
    switch (inst->claim) {
    case CLAIM_GRANTED:
        plan_add(plan, OP_RECORD_CREATE)->record = new_record(view, inst);
        ret->is_unanswered = true;
        say(ret, INSTANCE_STARTING, "CreatingPartition",
            "Creating a partition of %u IPUs on V-IPU controller %s", view->job->spec.ipus_per_instance,
            inst->granted);
        return;
    case CLAIM_WAITING:
        say(ret, INSTANCE_WAITING, inst->wait_reason, "%s", inst->wait_text);
        return;
    case CLAIM_NONE:
        ret->is_unanswered = true;
        say(ret, INSTANCE_WAITING, "Queued", "Waiting for its turn");
        return;
    }
}

/* The partition a pod was started on has been taken away. */
static bool is_cut_off(const struct job_view *view, const struct pod *pod)
{
    for (size_t i = 0; i < view->tombstone_count; i++) {
        const struct tombstone_view *tomb = &view->tombstones[i];

        if (str_eq(tomb->record->name, pod->partition))
            return tomb->part.state == PART_ABSENT && !tomb->part.busy;
    }
    return true;
}

/* Whatever runs there has no partition that we could vouch for. A pod that does not end although its
 * partition went, which comes after all patience, stands on a node that does not answer: only its name is in
 * the way. */
static void stop_stale(const struct job_view *view, const struct instance_view *inst, struct plan *plan)
{
    for (size_t i = 0; i < inst->stale_count; i++) {
        const struct pod *pod = inst->stale_pods[i];

        if (pod->deleting && !pod_is_quiet(pod, false, false) && is_cut_off(view, pod))
            plan_pod_drop(plan, pod);
        else
            plan_pod_delete(plan, pod);
    }
}

static void decide_without_record(const struct job_view *view, const struct instance_view *inst,
                                  struct plan *plan, struct instance_result *ret)
{
    if (inst->stale_count) {
        stop_stale(view, inst, plan);
        say(ret, INSTANCE_STARTING, "StoppingOldPods", "Pods of an earlier attempt are being stopped");
        return;
    }
    switch (view->dry_run) {
    case DRY_RUN_NEEDED:
        if (!plan_has(plan, OP_DRY_RUN))
            plan_add(plan, OP_DRY_RUN);
        plan_claim(plan, inst->index, false);
        ret->is_unanswered = true;
        say(ret, INSTANCE_WAITING, "CheckingTemplate",
            "Asking the API server whether it would take the pods");
        return;
    case DRY_RUN_FORBIDDEN:
        if (view->now_ms < view->dry_run_retry_at_ms)
            plan_again_at(plan, view->dry_run_retry_at_ms);
        else if (!plan_has(plan, OP_DRY_RUN))
            plan_add(plan, OP_DRY_RUN);
        say(ret, INSTANCE_WAITING, view->dry_run_reason, "The API server does not admit the pods yet: %s",
            view->dry_run_text);
        return;
    case DRY_RUN_REFUSED:
        say(ret, INSTANCE_FAILED, view->dry_run_reason, "%s", view->dry_run_text);
        ret->is_fatal = true;
        return;
    case DRY_RUN_PASSED:
        claim_partition(view, inst, plan, ret);
        return;
    }
}

/* ---- trouble ---- */

/* Never reset, never reuse the id: hold the partition for a while, then remove it. The removal is the fence.
 */
static void decide_lost(const struct job_view *view, const struct instance_view *inst, struct crew *crew,
                        struct plan *plan, struct instance_result *ret)
{
    const struct worker_view *lost = crew->lost;
    int64_t until = lost->since_ms + view->hold_ms;
    AUTO(mem)
    char *name = lost->pod_name
                     ? mem_strdup(lost->pod_name)
                     : name_worker_pod(view->job->name,
                                       inst->index * view->job->spec.workers_per_instance + crew->lost_index);

    delete_present(view, inst, false, plan);
    say(ret, INSTANCE_HOLDING, "ProcessMayStillRun",
        "Pod %s on node %s %s; partition %s is held because its processes may still run", name,
        lost->node ? lost->node : "unknown",
        lost->state == WORKER_PRESENT ? "does not end" : "vanished without having ended", inst->record->name);
    if (view->now_ms < until)
        plan_again_at(plan, until);
    else if (crew->noisy == 0) /* the others had their own time to go */
        begin_next_attempt(inst, "ProcessMayStillRun", crew, plan);
}

/* A crash came between the creation of pods and the note that they exist. What may have run meanwhile is cut
 * off by removing the partition; a new id is used. */
static void decide_interrupted(const struct job_view *view, const struct instance_view *inst,
                               struct crew *crew, struct plan *plan, struct instance_result *ret)
{
    delete_present(view, inst, false, plan);
    say(ret, INSTANCE_STARTING, "Recovering",
        "The operator was interrupted while it started pods; starting afresh");
    if (crew->noisy == 0)
        begin_next_attempt(inst, "Interrupted", crew, plan);
}

/* It was there when the first pods were created and is not what it was: nothing can be said of those pods. */
static void decide_partition_lost(const struct job_view *view, const struct instance_view *inst,
                                  struct crew *crew, struct plan *plan, struct instance_result *ret)
{
    delete_present(view, inst, false, plan);
    say(ret, INSTANCE_STARTING, "PartitionLost",
        "Partition %s was changed by somebody else or broke while its pods were started; starting afresh",
        inst->record->name);
    if (crew->noisy == 0)
        begin_next_attempt(inst, "PartitionLost", crew, plan);
}

static void drop_record(const struct record *record, struct plan *plan)
{
    struct op *op = plan_add(plan, OP_RECORD_DELETE);

    op->name = mem_strdup(record->name);
    op->uid = mem_strdup(record->uid);
}

/* ---- from record to active partition ---- */

static void decide_absent(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                          struct instance_result *ret)
{
    const struct record *record = inst->record;
    const struct part_view *part = &inst->part;

    if (part->refusal == PART_REFUSED_INVALID) {
        say(ret, INSTANCE_FAILED, "PartitionRefused", "V-IPU controller %s refuses the partition: %s",
            record->controller, part->trouble);
        ret->is_fatal = true;
        ret->is_unanswered = false; /* this is the answer; unsaid, it would be asked for again */
        drop_record(record, plan);
        return;
    }
    if (view->now_ms < part->retry_at_ms) {
        plan_again_at(plan, part->retry_at_ms);
        return;
    }
    struct op *op = plan_add(plan, OP_PARTITION_CREATE);
    op->name = mem_strdup(record->name);
    op->record = record_copy(record);
}

static bool has_other_shape(const struct instance_view *inst)
{
    const struct part_view *part = &inst->part;

    return part->state == PART_ACTIVE && part->size &&
           (part->size != inst->record->size || (part->gcds && part->gcds != inst->record->gcds));
}

/* Once pods ran on it, it is ours, whatever became of it. */
static bool is_foreign(const struct instance_view *inst, const struct crew *crew)
{
    if (inst->part.refusal == PART_REFUSED_FOREIGN)
        return true;
    return inst->record->run == 0 && crew->present == 0 && has_other_shape(inst);
}

static void reset_partition(const struct job_view *view, const struct instance_view *inst, struct plan *plan)
{
    if (view->now_ms < inst->part.retry_at_ms)
        plan_again_at(plan, inst->part.retry_at_ms);
    else
        plan_add(plan, OP_PARTITION_RESET)->name = mem_strdup(inst->record->name);
}

static void create_pods(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                        struct instance_result *ret)
{
    uint32_t workers = view->job->spec.workers_per_instance;

    say(ret, INSTANCE_STARTING, "StartingPods", "Starting %u pod(s) on partition %s", workers,
        inst->record->name);
    if (view->create_refused)
        say(ret, INSTANCE_STARTING, "PodsNotCreated", "The API server does not take the pods: %s",
            view->create_text);
    if (view->create_refused && view->now_ms < view->create_retry_at_ms) {
        plan_again_at(plan, view->create_retry_at_ms);
        return;
    }
    if (job_has_several_workers(&view->job->spec) && !view->has_service) {
        if (!plan_has(plan, OP_SERVICE_CREATE))
            plan_add(plan, OP_SERVICE_CREATE);
        return;
    }
    for (uint32_t w = 0; w < workers; w++) {
        if (inst->workers[w].state != WORKER_NEVER_SEEN)
            continue;
        struct op *op = plan_add(plan, OP_POD_CREATE);
        op->instance = inst->index;
        op->worker = w;
        op->name = mem_strdup(inst->record->name);
    }
}

/* The last trouble is told until it is over: it does not come and go with every new try. */
static void say_where_partition_stands(const struct instance_view *inst, struct instance_result *ret)
{
    const struct record *record = inst->record;
    const struct part_view *part = &inst->part;
    bool is_there = part->state == PART_PENDING || part->state == PART_ACTIVE || part->state == PART_ERROR;

    if (part->state == PART_ERROR)
        say(ret, INSTANCE_STARTING, "PartitionError", "Partition %s is in error and is being reset: %s",
            record->name, part->trouble ? part->trouble : "no reason given");
    else if (part->refusal == PART_REFUSED_ROOM && !is_there)
        say(ret, INSTANCE_WAITING, "InsufficientIPUs", "V-IPU controller %s has no room for %u IPUs: %s",
            record->controller, record->size, part->trouble ? part->trouble : "no reason given");
    else if (part->trouble && !is_there)
        say(ret, INSTANCE_WAITING, "ControllerUnavailable", "V-IPU controller %s: %s", record->controller,
            part->trouble);
    else
        say(ret, INSTANCE_STARTING, "CreatingPartition",
            "Partition %s of %u IPUs is being made by V-IPU controller %s", record->name, record->size,
            record->controller);
}

/* Some pods of this run do not exist yet. */
static void decide_starting(const struct job_view *view, const struct instance_view *inst, struct crew *crew,
                            struct plan *plan, struct instance_result *ret)
{
    const struct part_view *part = &inst->part;

    say_where_partition_stands(inst, ret);
    if (view->now_ms < inst->part_since_ms + TELL_AFTER_MS) {
        ret->is_unanswered = true;
        plan_again_at(plan, inst->part_since_ms + TELL_AFTER_MS);
    }
    for (size_t i = 0; i < inst->stale_count; i++)
        plan_pod_delete(plan, inst->stale_pods[i]);
    if (is_foreign(inst, crew)) {
        drop_record(inst->record, plan);
        return;
    }
    if (part->busy || inst->stale_count || part->state == PART_UNKNOWN || part->state == PART_PENDING)
        return;
    if (part->state == PART_ACTIVE && part->fresh && !has_other_shape(inst))
        create_pods(view, inst, plan, ret);
    else if (crew->present || has_other_shape(inst))
        decide_partition_lost(view, inst, crew, plan, ret);
    else if (part->state == PART_ABSENT)
        decide_absent(view, inst, plan, ret);
    else
        reset_partition(view, inst, plan);
}

/* ---- with all pods there ---- */

static bool wants_restart(const struct job_spec *spec, const struct record *record, const struct pod *failed)
{
    if (record->restarts >= spec->backoff_limit)
        return false;
    switch (spec->restart) {
    case RESTART_NEVER:
        return false;
    case RESTART_ALWAYS:
        return true;
    case RESTART_ON_FAILURE:
        return failed != NULL;
    case RESTART_EXIT_CODE:
        return failed && job_exit_code_matches(spec->exit_codes, failed->exit_code);
    }
    return false;
}

static int64_t restart_delay_s(uint32_t restarts)
{
    int64_t delay = RESTART_FIRST_S;

    while (restarts-- && delay < RESTART_MAX_S)
        delay *= 2;
    return delay < RESTART_MAX_S ? delay : RESTART_MAX_S;
}

static void restart(const struct job_view *view, const struct instance_view *inst, struct crew *crew,
                    int64_t ended_s, struct plan *plan, struct instance_result *ret)
{
    int64_t wait_s = ended_s + restart_delay_s(inst->record->restarts) - view->now_unix_s;

    say(ret, INSTANCE_RESTARTING, "Restarting", "Instance %u is being restarted (%u of at most %u)",
        inst->index, inst->record->restarts + 1, view->job->spec.backoff_limit);
    delete_present(view, inst, false, plan);
    if (crew->noisy)
        return;
    if (wait_s > 0 && wait_s <= RESTART_MAX_S)
        plan_again_at(plan, view->now_ms + wait_s * 1000);
    else
        begin_next_run(inst, crew, plan);
}

static void say_failed(const struct pod *pod, struct instance_result *ret)
{
    const char *container = pod->failed_container ? pod->failed_container : "unknown";

    if (pod->reason && !str_eq(pod->reason, "OOMKilled"))
        say(ret, INSTANCE_FAILED, "PodFailed", "Pod %s failed: %s%s%s", pod->name, pod->reason,
            pod->message ? ": " : "", pod->message ? pod->message : "");
    else if (pod->oom_killed)
        say(ret, INSTANCE_FAILED, "OOMKilled", "Container %s of pod %s ran out of memory (exit code %d)",
            container, pod->name, pod->exit_code);
    else
        say(ret, INSTANCE_FAILED, "ContainerFailed", "Container %s of pod %s ended with exit code %d",
            container, pod->name, pod->exit_code);
}

static void decide_failed(const struct job_view *view, const struct instance_view *inst,
                          const struct crew *crew, struct plan *plan, struct instance_result *ret)
{
    delete_present(view, inst, false, plan); /* peers of a failed worker would wait for it for ever */
    say_failed(crew->failed_pod, ret);
    if (crew->noisy)
        ret->phase = INSTANCE_RUNNING; /* its end is told when it is one */
}

static void decide_succeeded(const struct job_view *view, const struct instance_view *inst, struct crew *crew,
                             struct plan *plan, struct instance_result *ret)
{
    if (crew->noisy)
        say(ret, INSTANCE_RUNNING, "Ending", "Instance %u is ending", inst->index);
    else if (wants_restart(&view->job->spec, inst->record, NULL))
        restart(view, inst, crew, inst->workers[0].pod->finished_s, plan, ret);
    else
        say(ret, INSTANCE_DONE, "Completed", "Instance %u done", inst->index);
}

/* Deleted by hand, drained, preempted: it comes back, and with it the rest of its instance. */
static void decide_comes_back(const struct job_view *view, const struct instance_view *inst,
                              struct crew *crew, struct plan *plan, struct instance_result *ret)
{
    say(ret, INSTANCE_RESTARTING, "PodGone",
        "A pod of instance %u was deleted; its pods are being started again", inst->index);
    delete_present(view, inst, false, plan);
    if (crew->noisy == 0)
        begin_next_run(inst, crew, plan);
}

static void decide_running(const struct job_view *view, const struct instance_view *inst, struct crew *crew,
                           struct plan *plan, struct instance_result *ret)
{
    uint32_t workers = view->job->spec.workers_per_instance;

    if (crew->succeeded == workers)
        decide_succeeded(view, inst, crew, plan, ret);
    else if (crew->running + crew->succeeded == workers)
        say(ret, INSTANCE_RUNNING, "Running", "Instance %u is running", inst->index);
    else if (crew->waiting_pod)
        say(ret, INSTANCE_STARTING, crew->waiting_pod->image_trouble ? "ImageTrouble" : "PodsWaiting",
            "Pod %s waits: %s%s%s", crew->waiting_pod->name, crew->waiting_pod->reason,
            crew->waiting_pod->message ? ": " : "",
            crew->waiting_pod->message ? crew->waiting_pod->message : "");
    else
        say(ret, INSTANCE_STARTING, "StartingPods", "%u of %u pod(s) of instance %u are running",
            crew->running, workers, inst->index);
}

static void decide_crew(const struct job_view *view, const struct instance_view *inst, struct crew *crew,
                        struct plan *plan, struct instance_result *ret)
{
    bool restarts = crew->failed && wants_restart(&view->job->spec, inst->record, crew->failed_pod);
    bool is_unsure = crew->never_seen && !inst->part.quiet;

    if (crew->failed && !restarts)
        decide_failed(view, inst, crew, plan, ret);
    else if (crew->lost)
        decide_lost(view, inst, crew, plan, ret);
    else if (is_unsure && (inst->part.state == PART_ACTIVE || inst->part.state == PART_ERROR))
        decide_interrupted(view, inst, crew, plan, ret);
    else if (is_unsure)
        decide_starting(view, inst, crew, plan, ret);
    else if (crew->failed)
        restart(view, inst, crew, crew->failed_pod->finished_s, plan, ret);
    else if (crew->gone)
        decide_comes_back(view, inst, crew, plan, ret);
    else if (crew->never_seen)
        decide_starting(view, inst, crew, plan, ret);
    else
        decide_running(view, inst, crew, plan, ret);
}

void instance_decide(const struct job_view *view, const struct instance_view *inst, struct plan *plan,
                     struct instance_result *ret)
{
    struct crew crew = {0};

    *ret = (struct instance_result){0};
    if (!inst->record) {
        decide_without_record(view, inst, plan, ret);
        return;
    }
    sum_up(view, inst, &crew);
    report_pods(&crew, ret);
    /* After a start of the operator the first list is still to come; what was started is believed until then.
     */
    ret->has_partition =
        inst->part.state == PART_ACTIVE || (inst->part.state == PART_UNKNOWN && inst->record->started);
    decide_crew(view, inst, &crew, plan, ret);
    if (!inst->record->started && !crew.never_seen && !crew.record_changed)
        change_record(inst, &crew, plan)->started = true;
    if (crew.patience_ms)
        plan_again_at(plan, crew.patience_ms);
}
