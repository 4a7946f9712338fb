#include "kubectl/core/jobs.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/visible.h"

static const cJSON *condition(const cJSON *job, const char *type)
{
    JSON_EACH (item, json_at(job, "status/conditions")) {
        if (str_eq(json_str(item, "type", ""), type))
            return item;
    }
    return NULL;
}

bool job_has_ended(const cJSON *job)
{
    const char *status = json_str(job, "status/launcherStatus", "");

    return str_eq(status, "Completed") || str_eq(status, "Failed");
}

const char *job_since(const cJSON *job)
{
    const char *status = json_str(job, "status/launcherStatus", ""), *at = NULL;

    if (job_has_ended(job))
        at = json_str(job, "status/completionTime", NULL);
    else if (str_eq(status, "Terminating"))
        at = json_str(job, "metadata/deletionTimestamp", NULL);
    else
        at = json_str(condition(job, str_eq(status, "Suspended") ? "Suspended" : "Ready"),
                      "lastTransitionTime", NULL);
    return at ? at : json_str(job, "metadata/creationTimestamp", NULL);
}

int64_t job_held_ipus(const cJSON *job)
{
    int64_t ipus = 0, listed = 0, total = json_i64(job, "status/partitionCounts/total", 0);

    JSON_EACH (partition, json_at(job, "status/partitions")) {
        ipus += json_i64(partition, "ipus", 0);
        listed++;
    }
    /* All partitions of a job have the same size; the status lists only some of many. */
    return listed > 0 && total > listed ? ipus / listed * total : ipus;
}

static void put_common(cJSON *item, const cJSON *job)
{
    json_put_str(item, "namespace", json_str(job, "metadata/namespace", NULL));
    json_put_str(item, "name", json_str(job, "metadata/name", NULL));
    json_put_str(item, "status", json_str(job, "status/launcherStatus", NULL));
    json_put_str(item, "reason", json_str(job, "status/reason", NULL));
    json_put_str(item, "since", job_since(job));
    json_put_str(item, "created", json_str(job, "metadata/creationTimestamp", NULL));
    json_put_str(item, "message", json_str(job, "status/lastMessage", NULL));
}

static void put_number(cJSON *item, const char *key, const cJSON *from, const char *path)
{
    if (json_at(from, path))
        json_put_i64(item, key, json_i64(from, path, 0));
}

/* All controllers have the same. */
static const cJSON *share_of(const cJSON *job, const cJSON *controllers)
{
    const char *ns = json_str(job, "metadata/namespace", "");

    JSON_EACH (controller, controllers) {
        JSON_EACH (share, json_at(controller, "status/shares/namespaces")) {
            if (str_eq(json_str(share, "namespace", ""), ns))
                return share;
        }
    }
    return NULL;
}

static cJSON *queue_item(const cJSON *job, const cJSON *controllers)
{
    const cJSON *queue = json_at(job, "status/queue"), *blockers = json_at(queue, "blockedBy");
    const cJSON *forecast = json_at(job, "status/forecast"), *share = share_of(job, controllers);
    cJSON *item = json_object();

    put_common(item, job);
    json_put_str(item, "controller", json_str(queue, "controller", NULL));
    json_put_str(item, "queuedSince",
                 json_str(queue, "since", json_str(job, "metadata/creationTimestamp", NULL)));
    json_put_str(item, "priorityClass", json_str(job, "spec/workers/template/spec/priorityClassName", NULL));
    put_number(item, "position", queue, "position");
    put_number(item, "ipus", queue, "ipus");
    put_number(item, "freeIpus", queue, "freeIpus");
    put_number(item, "totalIpus", queue, "totalIpus");
    put_number(item, "fittingPartitions", queue, "fittingPartitions");
    put_number(item, "usedPercent", share, "usedPercent");
    put_number(item, "weight", share, "weight");
    if (blockers)
        json_put_take(item, "blockedBy", json_dup(blockers));
    if (forecast)
        json_put_take(item, "forecast", json_dup(forecast));
    return item;
}

static cJSON *top_item(const cJSON *job)
{
    const cJSON *running = condition(job, "Running");
    cJSON *item = json_object();

    put_common(item, job);
    json_put_i64(item, "ipus", job_held_ipus(job));
    json_put_i64(item, "currentInstances", json_i64(job, "status/currentReplicas", 0));
    json_put_i64(item, "desiredInstances", json_i64(job, "status/desiredReplicas", 0));
    json_put_i64(item, "pods", json_i64(job, "status/workersStatus/active", 0));
    json_put_i64(item, "restarts", json_i64(job, "status/restartCount", 0));
    json_put_str(item, "startTime", json_str(job, "status/startTime", NULL));
    if (str_eq(json_str(running, "status", ""), "True"))
        json_put_str(item, "runningSince", json_str(running, "lastTransitionTime", NULL));
    json_put_str(
        item, "controller",
        json_str(job_held_ipus(job) ? json_at(job, "status/partitions")->child : NULL, "controller", NULL));
    return item;
}

static int compare_text(const cJSON *a, const cJSON *b, const char *path)
{
    return strcmp(json_str(a, path, ""), json_str(b, path, ""));
}

static int compare_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_name(const cJSON *a, const cJSON *b)
{
    int order = compare_text(a, b, "namespace");

    return order ? order : compare_text(a, b, "name");
}

/* From the eleventh on, jobs have no position: they follow in their turn. */
static int by_position(const void *left, const void *right)
{
    const cJSON *a = *(cJSON *const *)left, *b = *(cJSON *const *)right;
    int order = compare_text(a, b, "controller");

    if (order == 0)
        order = compare_number(json_i64(a, "position", INT64_MAX), json_i64(b, "position", INT64_MAX));
    if (order == 0)
        order = compare_text(a, b, "queuedSince");
    return order ? order : by_name(a, b);
}

static int by_ipus(const void *left, const void *right)
{
    const cJSON *a = *(cJSON *const *)left, *b = *(cJSON *const *)right;
    int order = compare_number(json_i64(b, "ipus", 0), json_i64(a, "ipus", 0));

    return order ? order : by_name(a, b);
}

static cJSON *report(const char *kind, cJSON **items, size_t count, int (*order)(const void *, const void *))
{
    cJSON *made = json_object(), *array;

    json_put_str(made, "apiVersion", REPORT_API_VERSION);
    json_put_str(made, "kind", kind);
    array = json_put_array(made, "items");
    if (count > 0)
        qsort(items, count, sizeof(*items), order);
    for (size_t i = 0; i < count; i++)
        json_push_take(array, items[i]);
    mem_free(items);
    return made;
}

cJSON *queue_report(const cJSON *jobs, const cJSON *controllers)
{
    cJSON **items = NULL;
    size_t count = 0;

    JSON_EACH (job, jobs) {
        if (!json_at(job, "status/queue"))
            continue;
        items = mem_grow(items, count + 1, sizeof(*items));
        items[count++] = queue_item(job, controllers);
    }
    return report("QueueReport", items, count, by_position);
}

cJSON *top_report(const cJSON *jobs, const cJSON *controllers)
{
    cJSON **items = NULL;
    size_t count = 0;

    (void)controllers;
    JSON_EACH (job, jobs) {
        if (job_held_ipus(job) == 0)
            continue;
        items = mem_grow(items, count + 1, sizeof(*items));
        items[count++] = top_item(job);
    }
    return report("TopReport", items, count, by_ipus);
}

/* Who looks for a job that does not start may look here first. */
void queue_say_nothing(const cJSON *jobs, const char *ns, struct str *out)
{
    const cJSON *first = NULL;
    uint64_t count = 0;

    JSON_EACH (job, jobs) {
        if (!str_eq(json_str(job, "status/launcherStatus", ""), "Pending"))
            continue;
        first = first ? first : job;
        count++;
    }
    str_addf(out, "No job waits for IPUs%s%s.", ns ? " in namespace " : "", ns ? ns : "");
    if (!first)
        return;
    str_addc(out, ' ');
    str_add_count(out, count, "job is", "jobs are");
    str_adds(out, " Pending for another reason; see kubectl ipu why ");
    (void)str_add_visible(out, slice_of(json_str(first, "metadata/name", "")), VISIBLE_LINE);
    str_adds(out, " -n ");
    (void)str_add_visible(out, slice_of(json_str(first, "metadata/namespace", "")), VISIBLE_LINE);
    str_addc(out, '.');
}

void top_say_nothing(const cJSON *jobs, const char *ns, struct str *out)
{
    (void)jobs;
    str_addf(out, "No job holds IPUs%s%s.", ns ? " in namespace " : "", ns ? ns : "");
}

const struct column queue_columns[] = {
    {"CONTROLLER", "controller", COLUMN_TEXT, true},
    {"PLACE", "position", COLUMN_TEXT, false},
    {"NAMESPACE", "namespace", COLUMN_TEXT, false},
    {"NAME", "name", COLUMN_TEXT, false},
    {"IPUS", "ipus", COLUMN_TEXT, false},
    {"PRIORITY", "priorityClass", COLUMN_TEXT, false},
    {"WAITS", "since", COLUMN_AGE, false},
    {"STARTS IN", "forecast/expected", COLUMN_TIME_LEFT, false},
    {"FREE", "freeIpus", COLUMN_TEXT, true},
    {"TOTAL", "totalIpus", COLUMN_TEXT, true},
    {"FITTING", "fittingPartitions", COLUMN_TEXT, true},
    {"USED %", "usedPercent", COLUMN_TEXT, true},
    {"WEIGHT", "weight", COLUMN_TEXT, true},
    {"WHY", "reason", COLUMN_TEXT, false},
    {"BLOCKED BY", "blockedBy", COLUMN_LIST, true},
    {0},
};

const struct column top_columns[] = {
    {"NAMESPACE", "namespace", COLUMN_TEXT, false},
    {"NAME", "name", COLUMN_TEXT, false},
    {"STATUS", "status", COLUMN_STATUS, false},
    {"IPUS", "ipus", COLUMN_TEXT, false},
    {"CURRENT", "currentInstances", COLUMN_TEXT, false},
    {"DESIRED", "desiredInstances", COLUMN_TEXT, false},
    {"PODS", "pods", COLUMN_TEXT, false},
    {"RESTARTS", "restarts", COLUMN_TEXT, false},
    {"RUNS", "runningSince", COLUMN_AGE, false},
    {"CONTROLLER", "controller", COLUMN_TEXT, true},
    {"MESSAGE", "message", COLUMN_TEXT, true},
    {0},
};
