#include "operator/reconcile/status.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/timefmt.h"
#include "operator/api/names.h"
#include "operator/api/reasons.h"

const char *job_state_name(enum job_state state)
{
    static const char *const names[] = {
        [JOB_PENDING] = "Pending",       [JOB_STARTING] = "Starting",       [JOB_RUNNING] = "Running",
        [JOB_RESTARTING] = "Restarting", [JOB_SUSPENDED] = "Suspended",     [JOB_COMPLETED] = "Completed",
        [JOB_FAILED] = "Failed",         [JOB_TERMINATING] = "Terminating",
    };

    return names[state];
}

static const cJSON *find_condition(const cJSON *status, const char *type)
{
    JSON_EACH (condition, json_at(status, "conditions")) {
        if (str_eq(json_str(condition, "type", ""), type))
            return condition;
    }
    return NULL;
}

static bool condition_is_true(const cJSON *status, const char *type)
{
    return str_eq(json_str(find_condition(status, type), "status", ""), "True");
}

bool status_is_finished(const cJSON *status)
{
    return condition_is_true(status, "Completed") || condition_is_true(status, "Failed");
}

bool status_is_refusal(const cJSON *status)
{
    static const char *const mendable[] = {"InvalidSpec", "PodTemplateRefused", "PartitionRefused"};
    const char *reason = json_str(find_condition(status, "Failed"), "reason", "");

    if (!condition_is_true(status, "Failed"))
        return false;
    for (size_t i = 0; i < COUNT_OF(mendable); i++) {
        if (str_eq(reason, mendable[i]))
            return true;
    }
    return false;
}

bool status_is_stale_refusal(const cJSON *status, int64_t generation)
{
    const cJSON *failed = find_condition(status, "Failed");

    return status_is_refusal(status) && (str_eq(json_str(failed, "reason", ""), "InvalidSpec") ||
                                         json_i64(failed, "observedGeneration", 0) != generation);
}

/* ---- conditions ---- */

enum holds { NO, YES, UNKNOWN };

struct condition {
    const char *type;
    enum holds holds;
    const char *reason;
    const char *message;
};

static void put_condition(cJSON *conditions, const cJSON *before, const struct condition *want,
                          const struct job_view *view)
{
    const cJSON *old = find_condition(before, want->type);
    static const char *const names[] = {[NO] = "False", [YES] = "True", [UNKNOWN] = "Unknown"};
    const char *status = names[want->holds];
    bool same_status = str_eq(json_str(old, "status", ""), status);
    bool same = same_status && str_eq(json_str(old, "reason", ""), want->reason) &&
                str_eq(json_str(old, "message", ""), want->message);
    cJSON *condition = json_push_take(conditions, json_object());
    char now[TIMEFMT_RFC3339_SIZE];

    timefmt_rfc3339(view->now_unix_s, now);
    json_put_str(condition, "type", want->type);
    json_put_str(condition, "status", status);
    json_put_str(condition, "reason", want->reason);
    json_put_str(condition, "message", want->message);
    json_put_i64(condition, "observedGeneration", view->job->generation);
    json_put_str(condition, "lastTransitionTime",
                 same_status ? json_str(old, "lastTransitionTime", now) : now);
    json_put_str(condition, "lastUpdateTime", same ? json_str(old, "lastUpdateTime", now) : now);
}

static bool has_ended(const struct verdict *v)
{
    return v->state == JOB_COMPLETED || v->state == JOB_FAILED;
}

static struct condition partitions_ready(const struct verdict *v, const char *why, const char *text)
{
    if (has_ended(v) || !v->all_partitions)
        return (struct condition){"PartitionsReady", NO, why, text};
    if (v->has_silent_controller)
        return (struct condition){"PartitionsReady", UNKNOWN, "ControllerUnavailable",
                                  "A V-IPU controller has not answered for long; what runs goes on"};
    return (struct condition){"PartitionsReady", YES, "AllActive", "Every instance has its partition"};
}

static void put_conditions(cJSON *status, const cJSON *before, const struct verdict *v,
                           const struct job_view *view)
{
    cJSON *conditions = json_put_array(status, "conditions");
    bool ended = has_ended(v), running = v->all_pods;
    const char *why = ended ? "JobEnded" : v->reason;
    const char *text = ended ? "The job has ended" : v->message;
    const struct condition rows[] = {
        partitions_ready(v, why, text),
        {"PodsReady", running ? YES : NO, running ? "AllRunning" : why,
         running ? "All pods are running" : text},
        {"Running", v->running > 0 ? YES : NO, v->running > 0 ? "InstancesRunning" : why,
         v->running > 0 ? "At least one instance is running" : text},
        {"Completed", v->state == JOB_COMPLETED ? YES : NO,
         v->state == JOB_COMPLETED ? "Completed" : "NotCompleted",
         v->state == JOB_COMPLETED ? v->message : ""},
        {"Failed", v->state == JOB_FAILED ? YES : NO, v->state == JOB_FAILED ? v->reason : "NotFailed",
         v->state == JOB_FAILED ? v->message : ""},
        {"Suspended", v->state == JOB_SUSPENDED ? YES : NO,
         v->state == JOB_SUSPENDED ? "Suspended" : "NotSuspended",
         v->state == JOB_SUSPENDED ? v->message : ""},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        put_condition(conditions, before, &rows[i], view);
}

/* ---- lists ---- */

/* What a user should know of it: the steps in between are no news. */
static const char *part_state_name(const struct instance_view *inst)
{
    bool started = inst->record->started;

    switch (inst->part.state) {
    case PART_ACTIVE:
        return "Active";
    case PART_ERROR:
        return "Error";
    case PART_PENDING:
        return started ? "Resetting" : "Creating";
    case PART_ABSENT:
        return started ? "Missing" : "Creating";
    case PART_UNKNOWN:
        break;
    }
    return started ? "Active" : "Creating";
}

static void put_partition(cJSON *list, const struct record *record, const char *state)
{
    cJSON *item;

    if (cJSON_GetArraySize(list) >= STATUS_PARTITIONS_MAX)
        return;
    item = json_push_take(list, json_object());
    json_put_str(item, "id", record->name);
    json_put_str(item, "controller", record->controller);
    json_put_i64(item, "instance", record->instance);
    json_put_i64(item, "attempt", record->attempt);
    json_put_i64(item, "ipus", record->size);
    json_put_i64(item, "gcds", record->gcds);
    json_put_str(item, "state", state);
}

/* Right after a start nothing is known of it yet; a controller that does not answer gives it trouble soon. */
static bool is_only_a_record(const struct part_view *part)
{
    return !part->busy && (part->state == PART_ABSENT || (part->state == PART_UNKNOWN && !part->trouble));
}

static void put_partitions(cJSON *status, const struct verdict *v, const struct job_view *view)
{
    cJSON *list = json_put_array(status, "partitions");
    cJSON *counts = json_put_object(status, "partitionCounts");
    int64_t total = 0;

    for (size_t i = 0; i < view_all(view); i++) {
        const struct instance_view *inst = &view->instances[i];
        bool is_over = indexset_has(&v->done, inst->index) || indexset_has(&v->broken, inst->index);

        if (!inst->record || has_ended(v)) /* an end is told once; what goes back afterwards is no news */
            continue;
        total++;
        put_partition(list, inst->record,
                      is_over || v->state == JOB_TERMINATING || v->state == JOB_SUSPENDED
                          ? "Removing"
                          : part_state_name(inst));
    }
    for (size_t i = 0; i < view->tombstone_count && !has_ended(v); i++) {
        const struct tombstone_view *tomb = &view->tombstones[i];

        if (is_only_a_record(&tomb->part))
            continue;
        total++;
        put_partition(list, tomb->record, tomb->held && !tomb->record->releasing ? "Held" : "Removing");
    }
    json_put_i64(counts, "total", total);
    json_put_i64(counts, "active", has_ended(v) ? 0 : v->with_partition);
}

/* Who stands far back in a line is not told what changes with every step of it. */
static void put_queue(cJSON *status, const struct verdict *v, const struct job *job)
{
    const struct claim_wait *wait = v->wait;
    cJSON *queue, *blockers;

    if (!wait || !wait->controller || has_ended(v))
        return;
    queue = json_put_object(status, "queue");
    json_put_str(queue, "controller", wait->controller);
    json_put_i64(queue, "ipus", job->spec.ipus_per_instance);
    if (wait->place > CLAIMS_PLACES)
        return;
    json_put_i64(queue, "place", wait->place);
    json_put_i64(queue, "freeIPUs", wait->free_ipus);
    json_put_i64(queue, "totalIPUs", wait->total_ipus);
    json_put_i64(queue, "fitting", wait->fitting);
    blockers = json_put_array(queue, "blockedBy");
    for (size_t i = 0; i < wait->blockers.count; i++)
        json_push_str(blockers, wait->blockers.items[i]);
}

static void put_set(cJSON *status, const char *key, const struct indexset *set)
{
    AUTO(mem) char *text = indexset_print(set);

    if (*text)
        json_put_str(status, key, text);
}

/* ---- the whole ---- */

static int64_t started_s(const cJSON *status)
{
    int64_t at = 0;

    timefmt_parse_rfc3339(json_str(status, "startTime", ""), &at);
    return at;
}

static void put_failures(cJSON *status, const cJSON *before, const struct verdict *v)
{
    cJSON *list =
        failures_merge(json_at(before, "failure"), v->failures, v->failure_count, started_s(before));

    if (list)
        json_put_take(status, "failure", list);
}

static bool had_partitions(const cJSON *before, const struct verdict *v)
{
    if (!has_ended(v))
        return v->all_partitions;
    return json_bool(before, "iPUPartitionCreated", false) || indexset_count(&v->done) > 0;
}

/* What lifetime.c counts from. A suspended job starts anew. */
static void put_clocks(cJSON *status, const cJSON *before, const struct verdict *v, const char *now)
{
    if (v->state != JOB_SUSPENDED)
        json_put_str(status, "startTime", json_str(before, "startTime", v->has_begun ? now : NULL));
    if (v->stuck_at && !has_ended(v))
        json_put_str(status, "stuckSince", json_str(before, "stuckSince", now));
    if (has_ended(v))
        json_put_str(status, "completionTime", json_str(before, "completionTime", now));
}

static cJSON *build(const struct job_view *view, const cJSON *before, const struct verdict *v)
{
    const struct job *job = view->job;
    cJSON *status = json_object(), *workers;
    char now[TIMEFMT_RFC3339_SIZE];

    timefmt_rfc3339(view->now_unix_s, now);
    json_put_str(status, "launcherStatus", job_state_name(v->state));
    json_put_str(status, "lastMessage", v->message);
    json_put_str(status, "reason", v->reason);
    json_put_i64(status, "observedGeneration", job->generation);
    json_put_i64(status, "currentReplicas", v->running);
    json_put_i64(status, "desiredReplicas", job->spec.instances);
    json_put_strf(status, "selector", "%s=%s,%s=0", LABEL_JOB_NAME, job->name, LABEL_WORKER);
    json_put_bool(status, "iPUPartitionCreated", had_partitions(before, v));
    put_partitions(status, v, view);
    workers = json_put_object(status, "workersStatus");
    json_put_i64(workers, "active", v->active);
    json_put_i64(workers, "succeeded", v->succeeded);
    json_put_i64(workers, "failed", v->failed);
    json_put_i64(status, "restartCount", v->restarts);
    put_clocks(status, before, v, now);
    put_set(status, "completedInstances", &v->done);
    put_set(status, "failedInstances", &v->broken);
    put_queue(status, v, job);
    put_failures(status, before, v);
    put_conditions(status, before, v, view);
    json_put_str(status, "lastReconcileTime", now);
    return status;
}

static void without_times(cJSON *status)
{
    json_drop(status, "lastReconcileTime");
    for (cJSON *c = json_at_mut(status, "conditions") ? json_at_mut(status, "conditions")->child : NULL; c;
         c = c->next)
        json_drop(c, "lastUpdateTime");
}

static void without_sentences(cJSON *status)
{
    json_drop(status, "lastMessage");
    json_drop(status, "queue");
    for (cJSON *c = json_at_mut(status, "conditions") ? json_at_mut(status, "conditions")->child : NULL; c;
         c = c->next)
        json_drop(c, "message");
}

enum difference { SAME, ONLY_SENTENCES, DIFFERENT };

static enum difference compare(const cJSON *before, const cJSON *after)
{
    AUTO(json) cJSON *a = json_dup(before);
    AUTO(json) cJSON *b = json_dup(after);

    without_times(a);
    without_times(b);
    if (json_equal(a, b))
        return SAME;
    without_sentences(a);
    without_sentences(b);
    return json_equal(a, b) ? ONLY_SENTENCES : DIFFERENT;
}

/* A merge patch keeps what it does not name: what is gone has to be named. */
static void name_what_is_gone(const cJSON *before, cJSON *patch)
{
    JSON_EACH (member, before) {
        if (!cJSON_GetObjectItemCaseSensitive(patch, json_key(member)))
            json_put_take(patch, json_key(member), cJSON_CreateNull());
    }
}

static bool tells_reason(const struct plan *plan, const char *reason)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->ops[i].kind == OP_EVENT && str_eq(plan->ops[i].reason, reason))
            return true;
    }
    return false;
}

static void tell_state(const cJSON *before, const struct verdict *v, struct plan *plan)
{
    bool same_state = str_eq(json_str(before, "launcherStatus", ""), job_state_name(v->state));
    bool same_reason = str_eq(json_str(before, "reason", ""), v->reason);
    bool warning = v->state == JOB_FAILED || v->state == JOB_RESTARTING || reason_is_warning(v->reason);

    /* Steps on the way up follow each other too quickly to be told one by one. */
    if (same_state && (same_reason || (v->state == JOB_STARTING && !warning)))
        return;
    if (!tells_reason(plan, v->reason)) /* a failure has just been told in more words */
        plan_event(plan, v->reason, v->message, warning);
}

/* Each failure that stays in status, once, with its node and last lines. */
static void tell_failures(const cJSON *before, const cJSON *after, const struct verdict *v, struct plan *plan)
{
    int64_t start_s = started_s(before);

    for (size_t i = 0; i < v->failure_count; i++) {
        const struct failure *failure = &v->failures[i];

        if (failures_tell(json_at(before, "failure"), failure, start_s) ||
            !failures_tell(json_at(after, "failure"), failure, start_s))
            continue;
        AUTO(mem) char *story = failure_story(failure);

        plan_event(plan, failure->reason, story, true);
    }
}

/* The API server's own words have no limit; the status has one. */
static char *bounded(const char *text)
{
    size_t len = strnlen(text, STATUS_MESSAGE_MAX + 1);

    if (len <= STATUS_MESSAGE_MAX)
        return mem_strdup(text);
    for (len = STATUS_MESSAGE_MAX; ((unsigned char)text[len] & 0xC0) == 0x80;)
        len--; /* never cut inside a UTF-8 sequence */
    return mem_printf("%.*s...", (int)len, text);
}

static void decide(const struct job_view *view, const cJSON *before, const struct verdict *v,
                   struct plan *plan)
{
    cJSON *after = build(view, before, v);
    int64_t written_s = 0;

    switch (compare(before, after)) {
    case SAME:
        cJSON_Delete(after);
        return;
    case ONLY_SENTENCES:
        timefmt_parse_rfc3339(json_str(before, "lastReconcileTime", ""), &written_s);
        if (view->now_unix_s >= written_s && view->now_unix_s < written_s + STATUS_QUIET_S) {
            plan_again_at(plan, view->now_ms + (written_s + STATUS_QUIET_S - view->now_unix_s) * 1000);
            cJSON_Delete(after);
            return;
        }
        break;
    case DIFFERENT:
        break;
    }
    tell_failures(before, after, v, plan);
    tell_state(before, v, plan);
    name_what_is_gone(before, after);
    plan_add(plan, OP_STATUS)->body = after;
}

void status_decide(const struct job_view *view, const cJSON *before, const struct verdict *v,
                   struct plan *plan)
{
    AUTO(mem) char *message = bounded(v->message);
    struct verdict told = *v;

    told.message = message;
    decide(view, before, &told, plan);
}

void verdict_add_failure(struct verdict *v, const struct failure *failure)
{
    v->failures = mem_grow(v->failures, v->failure_count + 1, sizeof(*v->failures));
    v->failures[v->failure_count++] = *failure;
}

void verdict_release(struct verdict *v)
{
    mem_free(v->failures);
    mem_free(v->message);
    mem_free(v->stuck_at);
    indexset_release(&v->done);
    indexset_release(&v->broken);
    *v = (struct verdict){0};
}
