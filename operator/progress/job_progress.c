#include "operator/progress/job_progress.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"

void job_progress_release(struct job_progress *progress)
{
    mem_free(progress->instances);
    progress_report_release(&progress->metrics);
    mem_free(progress->problem);
    *progress = (struct job_progress){0};
}

/* ---- stale reports ---- */

static int64_t overdue_at_s(const struct instance_progress *instance)
{
    return instance->reported.loop_s +
           (5 * instance->gap_s > PROGRESS_STALE_S ? 5 * instance->gap_s : PROGRESS_STALE_S);
}

/* What is done, reports no more. */
static int64_t stale_at_s(const struct instance_progress *instance)
{
    return !instance->has_reported || instance->percent == 100 ? INT64_MAX : overdue_at_s(instance);
}

int64_t job_progress_stale_at_s(const struct job_progress *progress, int64_t now_s)
{
    int64_t first_s = INT64_MAX;

    for (size_t i = 0; i < progress->count; i++) {
        int64_t at_s = stale_at_s(&progress->instances[i]);

        if (at_s > now_s && at_s < first_s)
            first_s = at_s;
    }
    return first_s;
}

/* ---- reports ---- */

/* The index of the instance, or where it would be. */
static size_t place_of(const struct job_progress *progress, uint32_t instance)
{
    size_t low = 0, high = progress->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (progress->instances[middle].instance < instance)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct instance_progress *job_progress_find(const struct job_progress *progress, uint32_t instance)
{
    size_t at = place_of(progress, instance);

    return at < progress->count && progress->instances[at].instance == instance ? &progress->instances[at]
                                                                                : NULL;
}

/* The instance's place, made if it is new. */
static struct instance_progress *instance_of(struct job_progress *progress, uint32_t instance)
{
    size_t low = place_of(progress, instance);

    if (low < progress->count && progress->instances[low].instance == instance)
        return &progress->instances[low];
    progress->instances = mem_grow(progress->instances, progress->count + 1, sizeof(*progress->instances));
    memmove(&progress->instances[low + 1], &progress->instances[low],
            (progress->count++ - low) * sizeof(*progress->instances));
    progress->instances[low] = (struct instance_progress){.instance = instance, .worker = UINT32_MAX};
    return &progress->instances[low];
}

bool job_progress_admit(struct job_progress *progress, uint32_t instance, int64_t now_s)
{
    struct instance_progress *it = instance_of(progress, instance);

    if (it->admitted == 0 || now_s >= it->admitted_since_s + PROGRESS_WRITE_EVERY_S) {
        it->admitted_since_s = now_s;
        it->admitted = 0;
    }
    return it->admitted < PROGRESS_REPORTS_MAX && ++it->admitted;
}

static void keep_metrics(struct job_progress *progress, uint32_t instance,
                         const struct progress_report *report)
{
    bool is_other = progress->metrics.metrics && instance > progress->metrics_instance;

    if (is_other || !report->metrics)
        return;
    progress_report_release(&progress->metrics);
    progress->metrics = (struct progress_report){.metrics = mem_strdup(report->metrics),
                                                 .dropped_metrics = report->dropped_metrics};
    progress->metrics_instance = instance;
}

static void note_percent(struct instance_progress *it, int64_t percent, int64_t now_s)
{
    bool begins = !it->has_reported || it->from_percent < 0 || percent < it->percent;

    if (percent >= 0 && begins) {
        it->from_percent = percent;
        it->from_s = now_s;
    }
    if (percent >= 0 && (begins || percent > it->percent))
        it->moved_s = now_s;
    if (!it->has_reported && percent < 0)
        it->from_percent = -1;
    it->percent = percent;
}

int64_t instance_progress_left_s(const struct instance_progress *it, int64_t now_s)
{
    int64_t moved = it->percent - it->from_percent, left_s;

    if (!it->has_reported || it->from_percent < 0 || moved < PROGRESS_MOVED_MIN || now_s >= overdue_at_s(it))
        return -1;
    if (it->percent == 100)
        return 0;
    /* It counts down from the last rise, so that a program that hangs is not believed for long. */
    left_s = (it->moved_s - it->from_s) * (100 - it->percent) / moved - (now_s - it->moved_s);
    return left_s > 0 ? left_s : -1;
}

void job_progress_add(struct job_progress *progress, uint32_t instance, uint32_t worker,
                      const struct progress_report *report, struct progress_time now)
{
    struct instance_progress *kept;

    if (progress_report_is_empty(report))
        return;
    kept = instance_of(progress, instance);
    if (worker > kept->worker && now.loop_s < stale_at_s(kept))
        return;
    /* Smoothed, so that a single pause, such as a checkpoint, does not count as usual. */
    if (kept->has_reported)
        kept->gap_s = (3 * kept->gap_s + now.loop_s - kept->reported.loop_s) / 4;
    note_percent(kept, report->percent, now.loop_s);
    kept->has_reported = true;
    kept->worker = worker;
    kept->remaining_s = report->remaining_s;
    kept->reported = now;
    keep_metrics(progress, instance, report);
    mem_set_str(&progress->problem, NULL);
}

void job_progress_reject(struct job_progress *progress, const char *problem)
{
    mem_set_str(&progress->problem, problem);
}

/* ---- what another leader has written ---- */

static void restore_instance(struct job_progress *progress, const cJSON *item, struct progress_time now)
{
    int64_t index = json_i64(item, "instance", -1), worker = json_i64(item, "worker", -1), reported_s;
    struct instance_progress *it;

    if (index < 0 || index > UINT32_MAX || worker < 0 || worker > UINT32_MAX ||
        !timefmt_parse_rfc3339(json_str(item, "lastReportTime", ""), &reported_s))
        return;
    it = instance_of(progress, (uint32_t)index);
    it->has_reported = true;
    it->worker = (uint32_t)worker;
    it->percent = json_i64(item, "percentage", -1);
    it->remaining_s = json_i64(item, "remainingSeconds", -1);
    it->reported = (struct progress_time){
        .loop_s = json_bool(item, "stale", false) ? now.loop_s - PROGRESS_STALE_S : now.loop_s,
        .unix_s = reported_s,
    };
}

void job_progress_restore(struct job_progress *progress, const cJSON *status, struct progress_time now)
{
    const cJSON *metrics = json_at(status, "trainerStatus/metrics");

    JSON_EACH (item, json_at(status, "progress/instances"))
        restore_instance(progress, item, now);
    mem_set_str(&progress->problem, json_str(status, "progress/problem", NULL));
    if (!metrics)
        return;
    progress->metrics.metrics = json_print(metrics);
    progress->metrics.dropped_metrics = (uint32_t)json_i64(status, "progress/droppedMetrics", 0);
    progress->metrics_instance = UINT32_MAX; /* any may replace them */
}

/* ---- the status ---- */

static void put_number(cJSON *object, const char *key, int64_t number)
{
    if (number >= 0)
        json_put_i64(object, key, number);
}

struct total {
    int64_t percent, end_s; /* -1: unknown */
    int64_t reported_s;
    size_t reporting, stale;
};

static struct total total_of(const struct job_progress *progress, int64_t now_s)
{
    struct total total = {.percent = -1, .end_s = -1};
    int64_t sum = 0, with_percent = 0;

    for (size_t i = 0; i < progress->count; i++) {
        const struct instance_progress *it = &progress->instances[i];
        int64_t end_s = it->remaining_s < 0 ? -1 : it->reported.unix_s + it->remaining_s;

        if (!it->has_reported)
            continue;
        total.reporting++;
        if (it->percent >= 0) {
            sum += it->percent;
            with_percent++;
        }
        total.end_s = end_s > total.end_s ? end_s : total.end_s;
        total.reported_s = it->reported.unix_s > total.reported_s ? it->reported.unix_s : total.reported_s;
        total.stale += now_s >= stale_at_s(it);
    }
    if (with_percent)
        total.percent = sum / with_percent;
    return total;
}

static void put_summary(cJSON *out, const struct total *total, const char *problem)
{
    const char *mark = problem ? " (invalid)" : total->stale ? " (stale)" : "";

    if (total->percent >= 0)
        json_put_strf(out, "summary", "%d%%%s", (int)total->percent, mark);
    else
        json_put_strf(out, "summary", "unknown%s", mark);
}

static void put_instances(cJSON *out, const struct job_progress *progress, int64_t now_s)
{
    cJSON *list = json_put_array(out, "instances");

    for (size_t i = 0, shown = 0; i < progress->count && shown < PROGRESS_INSTANCES_SHOWN; i++) {
        const struct instance_progress *it = &progress->instances[i];
        cJSON *item;

        if (!it->has_reported)
            continue;
        shown++;
        item = json_push_take(list, json_object());
        json_put_i64(item, "instance", it->instance);
        json_put_i64(item, "worker", it->worker);
        put_number(item, "percentage", it->percent);
        put_number(item, "remainingSeconds", it->remaining_s);
        json_put_time(item, "lastReportTime", it->reported.unix_s);
        if (now_s >= stale_at_s(it))
            json_put_bool(item, "stale", true);
    }
}

cJSON *job_progress_print(const struct job_progress *progress, int64_t now_s)
{
    struct total total = total_of(progress, now_s);
    cJSON *out = json_object(), *ours = json_put_object(out, "progress"), *theirs;
    struct err ignored = {0};
    int64_t remaining_s = total.end_s < 0                  ? -1
                          : total.end_s > total.reported_s ? total.end_s - total.reported_s
                                                           : 0;

    put_summary(ours, &total, progress->problem);
    put_number(ours, "percentage", total.percent);
    if (total.end_s >= 0)
        json_put_time(ours, "estimatedEndTime", total.end_s);
    if (total.stale)
        json_put_bool(ours, "stale", true);
    json_put_str(ours, "problem", progress->problem);
    if (progress->metrics.dropped_metrics)
        json_put_i64(ours, "droppedMetrics", progress->metrics.dropped_metrics);
    if (!total.reporting)
        return out;
    json_put_time(ours, "lastReportTime", total.reported_s);
    json_put_i64(ours, "instancesReporting", (int64_t)total.reporting);
    put_instances(ours, progress, now_s);
    theirs = json_put_object(out, "trainerStatus");
    put_number(theirs, "progressPercentage", total.percent);
    put_number(theirs, "estimatedRemainingSeconds", remaining_s);
    if (progress->metrics.metrics)
        json_put_take(theirs, "metrics", json_parse(slice_of(progress->metrics.metrics), &ignored));
    json_put_time(theirs, "lastUpdatedTime", total.reported_s);
    return out;
}

/* ---- writes ---- */

/* A merge patch keeps what it does not name. */
static void put_absent(cJSON *patch, const char *member, const char *const *fields)
{
    cJSON *object = json_at_mut(patch, member);

    if (!object)
        object = json_put_object(patch, member);
    for (; *fields; fields++) {
        if (!json_at(object, *fields))
            json_put_take(object, *fields, cJSON_CreateNull());
    }
}

cJSON *job_progress_patch(const cJSON *printed)
{
    static const char *const OURS[] = {
        "percentage",     "estimatedEndTime",   "stale",     "problem", "droppedMetrics",
        "lastReportTime", "instancesReporting", "instances", NULL};
    static const char *const THEIRS[] = {"progressPercentage", "estimatedRemainingSeconds", "metrics",
                                         "lastUpdatedTime", NULL};
    cJSON *patch = json_dup(printed);

    put_absent(patch, "progress", OURS);
    put_absent(patch, "trainerStatus", THEIRS);
    return patch;
}

/* What a reader waits for; the rest changes with every report. */
static bool is_same_to_reader(const cJSON *a, const cJSON *b)
{
    static const char *const FIELDS[] = {"progress/summary", "progress/problem",
                                         "progress/instancesReporting"};

    for (size_t i = 0; i < COUNT_OF(FIELDS); i++) {
        if (!json_equal(json_at(a, FIELDS[i]), json_at(b, FIELDS[i])))
            return false;
    }
    return true;
}

int64_t job_progress_write_due_s(const cJSON *written, int64_t written_s, const cJSON *now)
{
    if (!written)
        return 0;
    if (json_equal(written, now))
        return INT64_MAX;
    return written_s + (is_same_to_reader(written, now) ? PROGRESS_DETAILS_EVERY_S : PROGRESS_WRITE_EVERY_S);
}
