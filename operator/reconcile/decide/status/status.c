#include "operator/reconcile/decide/status/status.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "base/core/utf8.h"
#include "base/core/visible.h"
#include "operator/api/names.h"
#include "operator/reconcile/decide/instance/instance_result.h"
#include "operator/reconcile/decide/status/conditions.h"
#include "operator/reconcile/decide/run/partition_release.h"
#include "operator/reconcile/decide/status/status_events.h"

/* ---- lists ---- */

/* The state for users: short steps in between are not shown. */
static const char *part_state_name(const struct instance_view *inst)
{
    bool started = inst->record->started;

    if (inst->partition.is_broken && !started) /* also while it is being reset */
        return "Error";
    switch (inst->partition.state) {
    case PARTITION_ACTIVE:
        return "Active";
    case PARTITION_ERROR:
        return "Error";
    case PARTITION_PENDING:
        return started ? "Resetting" : "Creating";
    case PARTITION_ABSENT:
        return started ? "Missing" : "Creating";
    case PARTITION_UNKNOWN:
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

/* Right after a start its state is unknown; a controller that does not answer is reported soon. */
static bool is_only_a_record(const struct partition_view *partition)
{
    return !partition->busy && (partition->state == PARTITION_ABSENT ||
                                (partition->state == PARTITION_UNKNOWN && !partition->trouble));
}

/* A suspended job is done with a partition when its record is gone, too: then the operator may be
 * uninstalled. A record that keeps an id from reuse stays. */
static bool is_still_held(const struct job_view *view, const struct job_verdict *v,
                          const struct tombstone_view *tomb)
{
    if (tomb->record->spent_s)
        return false;
    if (!is_only_a_record(&tomb->partition))
        return true;
    return v->state == JOB_SUSPENDED && tomb->partition.state == PARTITION_ABSENT &&
           release_of(view, tomb->record, v) != RELEASE_KEEPS_ID;
}

static void put_partitions(cJSON *status, const struct job_verdict *v, const struct job_view *view,
                           const struct plan *plan)
{
    cJSON *list = json_put_array(status, "partitions");
    cJSON *counts = json_put_object(status, "partitionCounts");
    int64_t total = 0;

    for (size_t i = 0; i < view->live_count; i++) {
        const struct instance_view *inst = &view->live[i];
        bool is_over = indexset_has(&v->done, inst->index) || indexset_has(&v->broken, inst->index);
        bool is_held = inst->record && strv_has(&plan->held, inst->record->name);

        /* The end is reported once; the release of partitions afterwards only if it takes long. */
        if (!inst->record || (verdict_has_ended(v) && !is_held))
            continue;
        total++;
        put_partition(list, inst->record,
                      is_held ? "Held"
                      : is_over || v->state == JOB_TERMINATING || v->state == JOB_SUSPENDED
                          ? "Removing"
                          : part_state_name(inst));
    }
    for (size_t i = 0; i < view->tombstone_count; i++) {
        const struct tombstone_view *tomb = &view->tombstones[i];
        bool is_held = strv_has(&plan->held, tomb->record->name);

        if (!is_held && (verdict_has_ended(v) || !is_still_held(view, v, tomb)))
            continue;
        total++;
        put_partition(list, tomb->record, is_held ? "Held" : "Removing");
    }
    json_put_i64(counts, "total", total);
    json_put_i64(counts, "active", verdict_has_ended(v) ? 0 : v->with_partition);
}

/* A claim far back in the queue does not report what changes with every step ahead of it. */
static void put_queue(cJSON *status, const struct job_verdict *v, const struct job_view *view)
{
    const struct claim_wait *wait = v->wait;
    cJSON *queue, *blockers;

    if (!wait || !wait->controller || verdict_has_ended(v))
        return;
    queue = json_put_object(status, "queue");
    json_put_str(queue, "controller", wait->controller);
    json_put_i64(queue, "ipus", view->job->spec.ipus_per_instance);
    json_put_time(queue, "since", view->turn_s);
    if (wait->position > CLAIMS_POSITIONS)
        return;
    json_put_i64(queue, "position", wait->position);
    json_put_i64(queue, "freeIpus", wait->free_ipus);
    json_put_i64(queue, "totalIpus", wait->total_ipus);
    json_put_i64(queue, "fittingPartitions", wait->fitting_partitions);
    blockers = json_put_array(queue, "blockedBy");
    for (size_t i = 0; i < wait->blockers.count; i++)
        json_push_str(blockers, wait->blockers.items[i]);
}

/* The next process reads it, see job_cache_recall_status: whatever the job waits for, and while it runs,
 * because it may have to queue again. */
static void put_turn(cJSON *status, const struct job_verdict *v, const struct job_view *view)
{
    if (view->turn_s > view->job->created_s && v->state != JOB_SUSPENDED && !verdict_has_ended(v))
        json_put_time(status, "queuedSince", view->turn_s);
}

/* Until something is known of it, that of before stays: a new leader has no plan yet. NULL: none. */
static cJSON *print_forecast(const cJSON *before, const struct job_verdict *v, const struct job_view *view)
{
    const cJSON *known = json_at(before, "forecast");

    if (!v->wait || verdict_has_ended(v))
        return NULL;
    if (view->forecast)
        return job_forecast_print(before, view->forecast, view->now_unix_s);
    return view->is_far_behind || !known ? NULL : json_dup(known);
}

static void put_set(cJSON *status, const char *key, const struct indexset *set)
{
    AUTO(mem) char *text = indexset_print(set);

    if (*text)
        json_put_str(status, key, text);
}

/* ---- the whole status ---- */

static void put_failures(cJSON *status, const cJSON *before, const struct job_verdict *v)
{
    cJSON *list =
        failures_merge(json_at(before, "failures"), v->failures, v->failure_count, status_start_s(before));

    if (list)
        json_put_take(status, "failures", list);
}

static bool had_partitions(const cJSON *before, const struct job_verdict *v)
{
    if (!verdict_has_ended(v))
        return v->all_partitions;
    return json_bool(before, "iPUPartitionCreated", false) || indexset_count(&v->done) > 0;
}

static void put_end_time(cJSON *status, uint32_t ttl_s)
{
    int64_t start_s;

    if (ttl_s && timefmt_parse_rfc3339(json_str(status, "startTime", ""), &start_s))
        json_put_time(status, "endTime", start_s + ttl_s);
}

/* The start of the time limits in lifetime.c. A resumed job starts them again, with other IPUs. */
static void put_clocks(cJSON *status, const cJSON *before, const struct job_verdict *v,
                       const struct job_spec *spec, const char *now)
{
    if (v->state != JOB_SUSPENDED || v->has_started)
        json_put_str(status, "startTime", json_str(before, "startTime", v->has_started ? now : NULL));
    if (v->stuck_at && !verdict_has_ended(v))
        json_put_str(status, "stuckSince", json_str(before, "stuckSince", now));
    if (verdict_has_ended(v))
        json_put_str(status, "completionTime", json_str(before, "completionTime", now));
    else
        put_end_time(status, spec->interactive_ttl_s);
}

/* The API server's messages have no limit; the status has one. */
static char *readable_message(const char *original)
{
    AUTO(mem) char *text = visible_new(original, VISIBLE_LINES);

    if (strnlen(text, STATUS_MESSAGE_MAX + 1) <= STATUS_MESSAGE_MAX)
        return TAKE(text);
    return mem_printf("%.*s...", (int)utf8_cut(text, STATUS_MESSAGE_MAX), text);
}

/* The next process reads it, see job_cache_recall_status. A start that the API server rejected is written
 * once, not with every try: the times and numbers in its message differ. */
static void put_start_failure(cJSON *status, const cJSON *before, const struct job_verdict *v,
                              const struct job_view *view)
{
    AUTO(mem) char *message = readable_message(view->create_text ? view->create_text : "");
    bool is_rejected = !view->requeues && v->stuck_at && instance_was_rejected(view);
    const cJSON *known = json_at(before, "startFailure");
    cJSON *failure;

    if ((!view->requeues && !is_rejected) || verdict_has_ended(v) || v->state == JOB_SUSPENDED ||
        v->state == JOB_TERMINATING)
        return;
    if (is_rejected && json_i64(known, "tries", -1) == 0 &&
        str_eq(json_str(known, "reason", NULL), view->create_reason)) {
        json_put_take(status, "startFailure", json_dup(known));
        return;
    }
    failure = json_put_object(status, "startFailure");
    json_put_str(failure, "reason", view->create_reason);
    json_put_str(failure, "message", message);
    json_put_i64(failure, "tries", view->requeues);
    json_put_time(failure, "time", is_rejected ? view->now_unix_s : view->requeued_s);
}

/* Members that others write: the progress that programs report. */
static void keep_progress(cJSON *status, const cJSON *before)
{
    static const char *const MEMBERS[] = {"progress", "trainerStatus"};

    for (size_t i = 0; i < COUNT_OF(MEMBERS); i++) {
        const cJSON *member = json_at(before, MEMBERS[i]);

        if (member)
            json_put_take(status, MEMBERS[i], json_dup(member));
    }
}

static cJSON *build(const struct job_view *view, const cJSON *before, const struct job_verdict *v,
                    const cJSON *forecast, const struct plan *plan)
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
    put_partitions(status, v, view, plan);
    workers = json_put_object(status, "workersStatus");
    json_put_i64(workers, "active", v->active);
    json_put_i64(workers, "succeeded", v->succeeded);
    json_put_i64(workers, "failed", v->failed);
    json_put_i64(status, "restartCount", v->restarts);
    if (v->preemptions)
        json_put_i64(status, "preemptionCount", v->preemptions);
    put_clocks(status, before, v, &job->spec, now);
    put_set(status, "completedIndexes", &v->done);
    put_set(status, "failedIndexes", &v->broken);
    put_turn(status, v, view);
    put_queue(status, v, view);
    if (forecast)
        json_put_take(status, "forecast", json_dup(forecast));
    put_failures(status, before, v);
    put_start_failure(status, before, v, view);
    conditions_put(status, before, v, view);
    json_put_str(status, "lastReconcileTime", now);
    keep_progress(status, before);
    json_make_visible(status, VISIBLE_LINES); /* also what V-IPU controllers and logs say */
    return status;
}

static bool is_named(const char *const *names, const char *name)
{
    for (; *names; names++) {
        if (str_eq(*names, name))
            return true;
    }
    return false;
}

/* Are all members the same, except those with these names? */
static bool objects_equal_except(const cJSON *a, const cJSON *b, const char *const *free)
{
    JSON_EACH (member, a) {
        if (!is_named(free, json_key(member)) &&
            !json_equal(member, cJSON_GetObjectItemCaseSensitive(b, json_key(member))))
            return false;
    }
    JSON_EACH (member, b) {
        if (!is_named(free, json_key(member)) && !cJSON_GetObjectItemCaseSensitive(a, json_key(member)))
            return false;
    }
    return true;
}

static bool conditions_equal_except(const cJSON *a, const cJSON *b, const char *const *free)
{
    const cJSON *left = a ? a->child : NULL, *right = b ? b->child : NULL;

    for (; left && right; left = left->next, right = right->next) {
        if (!objects_equal_except(left, right, free))
            return false;
    }
    return !left && !right;
}

/* A status and its conditions: the members that may differ. */
struct exceptions {
    const char *const *status, *const *condition;
};

static bool statuses_equal_except(const cJSON *a, const cJSON *b, const struct exceptions *exceptions)
{
    return objects_equal_except(a, b, exceptions->status) &&
           conditions_equal_except(json_at(a, "conditions"), json_at(b, "conditions"), exceptions->condition);
}

#define TIMES "lastReconcileTime", "conditions"
static const char *const TIMES_ALONE[] = {TIMES, NULL};
static const char *const CONDITION_TIMES[] = {"lastUpdateTime", NULL};
/* Members that change with every pod and every step of the queue. They are written with the next reported
 * change, and on their own once a minute: a write for each pod would be most of the job's requests to the
 * API server. A deletion is usually waited for, so its steps are reported. */
#define QUEUE_DETAILS "lastMessage", "queuedSince", "queue", "forecast"
static const char *const DETAILS[] = {TIMES, QUEUE_DETAILS, "workersStatus", NULL};
static const char *const DETAILS_OF_DELETION[] = {TIMES, QUEUE_DETAILS, NULL};
static const char *const CONDITION_DETAILS[] = {"lastUpdateTime", "message", NULL};

enum difference { SAME, ONLY_DETAILS, DIFFERENT };

static enum difference compare(const cJSON *before, const cJSON *after)
{
    bool is_deletion = str_eq(json_str(after, "launcherStatus", ""), job_state_name(JOB_TERMINATING));

    if (statuses_equal_except(before, after, &(struct exceptions){TIMES_ALONE, CONDITION_TIMES}))
        return SAME;
    if (json_at(after, "forecast") && !json_at(before, "forecast"))
        return DIFFERENT; /* the first is awaited */
    if (statuses_equal_except(
            before, after,
            &(struct exceptions){is_deletion ? DETAILS_OF_DELETION : DETAILS, CONDITION_DETAILS}))
        return ONLY_DETAILS;
    return DIFFERENT;
}

/* A merge patch keeps members that it does not name, so removed ones are named. */
static void add_removed_members(const cJSON *before, cJSON *patch)
{
    JSON_EACH (member, before) {
        cJSON *now = cJSON_GetObjectItemCaseSensitive(patch, json_key(member));

        if (!now)
            json_put_take(patch, json_key(member), cJSON_CreateNull());
        else if (cJSON_IsObject(member) && cJSON_IsObject(now))
            add_removed_members(member, now);
    }
}

/* When details may be written on their own. A clock that was set back does not stop them. */
static int64_t details_due_ms(const struct job_view *view, const cJSON *before)
{
    int64_t since_ms = view->details_since_ms ? view->details_since_ms : view->now_ms;
    int64_t settled_ms = since_ms + STATUS_SETTLE_MS, quiet_ms = 0, written_s = 0;

    timefmt_parse_rfc3339(json_str(before, "lastReconcileTime", ""), &written_s);
    if (view->now_unix_s >= written_s)
        quiet_ms = view->now_ms + (written_s + STATUS_DETAILS_EVERY_S - view->now_unix_s) * 1000;
    return quiet_ms > settled_ms ? quiet_ms : settled_ms;
}

static bool must_batch(const struct job_view *view, const cJSON *before, enum difference difference,
                       struct plan *plan)
{
    int64_t due_ms = difference == ONLY_DETAILS ? details_due_ms(view, before) : 0;

    if (view->now_ms >= due_ms)
        return false;
    plan->holds_details = true;
    plan_again_at(plan, due_ms);
    return true;
}

static void decide(const struct job_view *view, const cJSON *before, const struct job_verdict *v,
                   const cJSON *forecast, struct plan *plan)
{
    cJSON *after = build(view, before, v, forecast, plan);
    enum difference difference = compare(before, after);

    if (difference == SAME || must_batch(view, before, difference, plan)) {
        cJSON_Delete(after);
        return;
    }
    status_events_add(view, before, after, v, plan);
    add_removed_members(before, after);
    plan_add(plan, OP_STATUS)->body = after;
}

/* The message, and when a job that waits in the queue is expected to start. */
static char *describe(const struct job_verdict *v, const cJSON *forecast, int64_t now_s)
{
    bool is_queued = v->wait && str_eq(v->reason, v->wait->reason);
    AUTO(mem) char *start = is_queued ? job_forecast_describe(forecast, now_s) : NULL;
    AUTO(mem) char *text = start ? mem_printf("%s; %s", v->message, start) : mem_strdup(v->message);

    return readable_message(text);
}

void status_decide(const struct job_view *view, const cJSON *before, const struct job_verdict *v,
                   struct plan *plan)
{
    AUTO(json) cJSON *forecast = print_forecast(before, v, view);
    AUTO(mem) char *message = describe(v, forecast, view->now_unix_s);
    struct job_verdict with_message = *v;

    with_message.message = message;
    decide(view, before, &with_message, forecast, plan);
}
