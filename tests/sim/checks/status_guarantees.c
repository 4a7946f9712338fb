#include "checks/status_guarantees.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "checks/invariants.h"
#include "operator/api/names.h"
#include "operator/api/reasons.h"

/* News of a pod is a few milliseconds on its way, and what ended meanwhile may be deleted unread. */
#define LAG_S 2

/* ---- 5: what it waits for, since when ---- */

static bool has_condition_since(const cJSON *condition)
{
    int64_t since = 0;

    timefmt_parse_rfc3339(json_str(condition, "lastTransitionTime", ""), &since);
    return since > 0 && since <= clock_unix_s() && *json_str(condition, "reason", "");
}

void status_guarantees_on_status(struct world *world, const cJSON *job)
{
    const char *name = json_str(job, "metadata/name", ""), *reason = json_str(job, "status/reason", "");

    if (!json_at(job, "status"))
        return;
    if (!reason_find(reason) || !*json_str(job, "status/lastMessage", ""))
        world_break(world, AN_END, "job %s is %s and says \"%s\" (%s)", name,
                    json_str(job, "status/launcherStatus", ""), json_str(job, "status/lastMessage", ""),
                    reason);
    if (!json_at(job, "status/conditions"))
        world_break(world, AN_END, "job %s has no conditions", name);
    JSON_EACH (condition, json_at(job, "status/conditions")) {
        if (!has_condition_since(condition))
            world_break(world, AN_END, "job %s: condition %s does not say why or since when", name,
                        json_str(condition, "type", ""));
    }
}

/* ---- 4: expected starts ---- */

/* What docs/queue.md promises. */
#define FORECAST_EVERY_S 60

static cJSON *rest_of(const cJSON *status)
{
    cJSON *rest = json_dup(status);
    const char *message = json_str(status, "lastMessage", ""),
               *start = strstr(message, "; expected to start ");

    if (start) {
        AUTO(mem) char *without = mem_strndup(message, (size_t)(start - message));

        json_put_str(rest, "lastMessage", without);
    }
    json_drop(rest, "forecast");
    json_drop(rest, "lastReconcileTime");
    json_drop(rest, "conditions");
    return rest;
}

static bool is_of_forecast(const cJSON *before, const cJSON *after)
{
    AUTO(json) cJSON *rest_before = rest_of(before);
    AUTO(json) cJSON *rest_after = rest_of(after);

    return json_equal(rest_before, rest_after) &&
           !json_equal(json_at(before, "forecast"), json_at(after, "forecast"));
}

/* asOf is the time of the change itself. */
static bool says_the_same(const cJSON *before, const cJSON *after)
{
    AUTO(json) cJSON *now = json_dup(json_at(after, "forecast"));

    json_put_str(now, "asOf", json_str(before, "forecast/asOf", NULL));
    return json_equal(now, json_at(before, "forecast"));
}

static int64_t written_s(const cJSON *status)
{
    int64_t at = 0;

    timefmt_parse_rfc3339(json_str(status, "lastReconcileTime", ""), &at);
    return at;
}

void status_guarantees_on_change(struct world *world, struct user_job *job, const cJSON *doc)
{
    AUTO(json) cJSON *before = TAKE(job->status);
    const cJSON *after = json_at(doc, "status");

    job->status = after ? json_dup(after) : NULL;
    if (!before || !after || !is_of_forecast(before, after))
        return;
    world->forecast_writes++;
    if (!json_at(before, "forecast") || !json_at(after, "forecast"))
        return;
    if (says_the_same(before, after))
        world_break(world, NOTHING_AGAIN, "job %s is told the same start once more", job->name);
    if (written_s(after) - written_s(before) < FORECAST_EVERY_S)
        world_break(world, NOTHING_AGAIN, "job %s is told another start %lld s after the last", job->name,
                    (long long)(written_s(after) - written_s(before)));
}

/* ---- 5: who holds it ---- */

/* A job ahead that also waits, one that has IPUs, or a foreign partition. */
static bool can_block(const struct world *world, const char *blocker)
{
    const char *name = strchr(blocker, '/');
    const struct api_object *job = name ? api_find(&world->api, "ipujobs", WORLD_NS, name + 1) : NULL;
    const char *state = json_str(job ? job->doc : NULL, "status/launcherStatus", "");

    if (!name)
        return str_has_prefix(blocker, "foreign");
    return job && !str_eq(state, "Completed") && !str_eq(state, "Failed");
}

static void check_holders(struct world *world, const struct user_job *job, const cJSON *doc)
{
    const char *reason = json_str(doc, "status/reason", "");
    const cJSON *blockers = json_at(doc, "status/queue/blockedBy");

    if (!str_eq(reason, "InsufficientIPUs") &&
        !(str_eq(reason, "Queued") && json_at(doc, "status/queue/place")))
        return;
    if (!blockers || !blockers->child)
        world_break(world, AN_END, "job %s waits for IPUs and does not say who has them: %s", job->name,
                    json_str(doc, "status/lastMessage", ""));
    JSON_EACH (blocker, blockers) {
        if (!can_block(world, cJSON_GetStringValue(blocker)))
            world_break(world, AN_END, "job %s waits for %s, which holds nothing", job->name,
                        cJSON_GetStringValue(blocker));
    }
}

/* ---- 7: logs, and the first failure ---- */

/* 0: it has not. */
static int64_t finished_s(const cJSON *pod)
{
    const cJSON *statuses = json_at(pod, "status/containerStatuses");
    int64_t at = 0;

    timefmt_parse_rfc3339(json_str(statuses ? statuses->child : NULL, "state/terminated/finishedAt", ""),
                          &at);
    return at;
}

static bool is_disrupted(const cJSON *pod)
{
    JSON_EACH (condition, json_at(pod, "status/conditions")) {
        if (str_eq(json_str(condition, "type", ""), "DisruptionTarget"))
            return true;
    }
    return false;
}

static bool is_stopped(const cJSON *pod)
{
    return str_eq(json_str(pod, "status/reason", ""), "DeadlineExceeded");
}

/* In the state that the API server shows; 0: it does not. */
static int64_t runs_since_s(const cJSON *pod)
{
    const cJSON *statuses = json_at(pod, "status/containerStatuses");
    int64_t at = 0;

    timefmt_parse_rfc3339(json_str(statuses ? statuses->child : NULL, "state/running/startedAt", ""), &at);
    return at;
}

/* Without delays. What runs is stopped and not deleted, unless the policy of its job wants it to go. */
static void check_running_log(struct world *world, const struct user_job *job, const cJSON *doc,
                              const struct api_object *pod)
{
    int64_t since_s = runs_since_s(pod->doc);

    if (!since_s || clock_unix_s() < since_s + LAG_S || (job->ended && json_at(doc, "spec/cleanPodPolicy")))
        return;
    world_break(world, READABLE, "pod %s of job %s is deleted while it runs, and its log with it", pod->name,
                job->name);
}

/* Without delays. A pod that ended by itself is deleted by policy when its job has ended, or to be replaced,
 * and then status has named the first failure. */
void status_guarantees_on_deletion(struct world *world, const struct api_object *pod)
{
    const struct user_job *job =
        world_job(world, json_str(pod->doc, "metadata/labels/graphcore.ai~1job-name", "-"));
    const struct api_object *object = job ? api_find(&world->api, "ipujobs", WORLD_NS, job->name) : NULL;
    const char *phase = json_str(pod->doc, "status/phase", "");
    int64_t since_s = finished_s(pod->doc);

    if (!world->options.is_calm || !object || json_at(object->doc, "metadata/deletionTimestamp") ||
        json_at(pod->doc, "metadata/deletionTimestamp") || is_disrupted(pod->doc))
        return;
    check_running_log(world, job, object->doc, pod);
    if (!since_s || clock_unix_s() < since_s + LAG_S)
        return;
    if (job->ended && !json_at(object->doc, "spec/cleanPodPolicy"))
        world_break(world, READABLE, "pod %s (%s) of job %s is deleted, which is %s and keeps its pods",
                    pod->name, phase, job->name, job->ended);
    if (str_eq(phase, "Failed") && !is_stopped(pod->doc) && !json_at(object->doc, "status/failures"))
        world_break(world, READABLE, "pod %s of job %s is deleted, and its failure is reported nowhere",
                    pod->name, job->name);
}

/* Where a quota is, pods go that had their failure before them; a preemption stops a pod before it fails. */
static void check_failure(struct world *world, const struct user_job *job, const cJSON *doc)
{
    const cJSON *first = json_at(doc, "status/failures");
    bool may_fail = job->kind->pods == PODS_FAIL ||
                    (job->kind->pods == PODS_FAIL_TWICE && json_i64(doc, "status/preemptionCount", 0) < 2);

    first = first ? first->child : NULL;
    if (!may_fail || !job->ended || world->options.has_quota || job->kind->user != USER_WAITS ||
        !world_is_calm(world))
        return;
    if (!first || !*json_str(first, "pod", "") || json_i64(first, "exitCode", 0) != 3)
        world_break(world, READABLE, "job %s is %s, and its status does not name what failed: %s", job->name,
                    job->ended, json_str(first, "reason", "nothing"));
}

/* ---- 8 ---- */

void status_guarantees_init(struct world *world, const struct api_object *object)
{
    const char *name = json_str(object->doc, "metadata/labels/graphcore.ai~1job-name",
                                json_str(object->doc, "data/jobName", "-"));
    const struct user_job *job = world_job(world, name);

    if (job && job->kind->mistakes)
        world_break(world, BAD_INPUT, "%s %s is made for job %s, which is rejected", object->kind->kind,
                    object->name, name);
}

static void check_mistakes(struct world *world, const struct user_job *job, const cJSON *doc)
{
    AUTO(strv) struct strv mistakes = {0};

    if (!job->kind->mistakes)
        return;
    strv_split(job->kind->mistakes, '|', &mistakes);
    for (size_t i = 0; i < mistakes.count; i++) {
        if (!strstr(json_str(doc, "status/lastMessage", ""), mistakes.items[i]))
            world_break(world, BAD_INPUT, "job %s is rejected without a word of %s: %s", job->name,
                        mistakes.items[i], json_str(doc, "status/lastMessage", ""));
    }
}

void status_guarantees_at_rest(struct world *world, const struct user_job *job, const cJSON *doc)
{
    check_holders(world, job, doc);
    check_failure(world, job, doc);
    check_mistakes(world, job, doc);
}
