#include "kubectl/core/answers/eta.h"

#include "base/core/visible.h"
#include "base/text/timefmt.h"
#include "kubectl/core/jobs.h"
#include "kubectl/core/operator_sign.h"

static const struct {
    const char *basis, *meaning;
} BASES[] = {
    {"Bounds", "its IPUs are reserved, and deadlines say when they are free"},
    {"History", "run times of earlier jobs"},
    {"Order", "a coarse estimate, because many jobs are ahead"},
    {"Counted", "the number of free IPUs: the V-IPU controller chooses which IPUs a partition gets"},
    {"Open", "the run time of a job ahead is not known"},
};

/* "20m"; false: there is no such time. */
static bool time_left(const cJSON *object, const char *path, int64_t now_s, char ret[TIMEFMT_RFC3339_SIZE])
{
    int64_t at_s;

    if (!timefmt_parse_rfc3339(json_str(object, path, NULL), &at_s))
        return false;
    timefmt_age(at_s - now_s, ret);
    return true;
}

bool start_add_times(struct str *out, const cJSON *forecast, int64_t now_s)
{
    char earliest[TIMEFMT_RFC3339_SIZE], expected[TIMEFMT_RFC3339_SIZE], latest[TIMEFMT_RFC3339_SIZE];
    bool is_open, is_near;

    if (!time_left(forecast, "earliest", now_s, earliest)) {
        str_adds(out, "at a time that is not known");
        return false;
    }
    is_open = !time_left(forecast, "latest", now_s, latest);
    is_near = str_eq(earliest, "0s");
    if (is_near)
        str_addf(out, "%s%s", is_open ? "now or later" : "within ", is_open ? "" : latest);
    else if (is_open || str_eq(latest, earliest))
        str_addf(out, "in %s%s", earliest, is_open ? " or later" : "");
    else
        str_addf(out, "in %s to %s", earliest, latest);
    if (time_left(forecast, "expected", now_s, expected) && !str_eq(expected, earliest))
        str_addf(out, ", likely in %s", expected);
    return true;
}

void start_add(struct str *out, const cJSON *forecast, int64_t now_s)
{
    if (start_add_times(out, forecast, now_s))
        str_adds(out, ", if nothing changes");
}

/* The earlier of the ends by a deadline and of an interactive job. */
static void put_latest_end(cJSON *report, const cJSON *job)
{
    int64_t limit_s = json_i64(job, "spec/activeDeadlineSeconds", 0), start_s = 0, end_s = 0, deadline_s = 0;

    (void)timefmt_parse_rfc3339(json_str(job, "status/endTime", NULL), &end_s);
    if (limit_s > 0 && limit_s <= UINT32_MAX &&
        timefmt_parse_rfc3339(json_str(job, "status/startTime", NULL), &start_s))
        deadline_s = start_s + limit_s;
    if (!end_s || (deadline_s && deadline_s < end_s))
        end_s = deadline_s;
    if (end_s)
        json_put_time(report, "latestEnd", end_s);
}

cJSON *eta_report(const cJSON *job)
{
    const cJSON *status = json_at(job, "status"), *forecast = json_at(status, "forecast");
    cJSON *report = json_object(), *metadata;

    json_put_str(report, "apiVersion", REPORT_API_VERSION);
    json_put_str(report, "kind", "EtaReport");
    metadata = json_put_object(report, "metadata");
    json_put_str(metadata, "namespace", json_str(job, "metadata/namespace", NULL));
    json_put_str(metadata, "name", json_str(job, "metadata/name", NULL));
    json_put_str(report, "status", json_str(status, "launcherStatus", "Pending"));
    json_put_str(report, "completionTime", json_str(status, "completionTime", NULL));
    if (forecast)
        json_put_take(report, "forecast", json_dup(forecast));
    if (json_at(status, "completionTime"))
        return report;
    json_put_str(report, "expectedEnd", json_str(status, "progress/estimatedEndTime", NULL));
    if (json_at(status, "progress/percentage"))
        json_put_i64(report, "percentage", json_i64(status, "progress/percentage", 0));
    put_latest_end(report, job);
    return report;
}

static void add_start(const cJSON *forecast, const struct look *look, bool wide, int64_t now_s,
                      struct str *out)
{
    AUTO(str) struct str start = {0}, place = {0};
    char age[TIMEFMT_RFC3339_SIZE];
    int64_t as_of_s;

    start_add(&start, forecast, now_s);
    row_add(out, look, "starts", str_text(&start));
    str_addf(&place, "%lld", (long long)json_i64(forecast, "position", 0));
    row_add(out, look, "place", str_text(&place));
    for (size_t i = 0; i < COUNT_OF(BASES); i++)
        if (str_eq(json_str(forecast, "basis", ""), BASES[i].basis))
            row_add(out, look, "rests on", BASES[i].meaning);
    if (wide && timefmt_parse_rfc3339(json_str(forecast, "asOf", NULL), &as_of_s))
        row_add(out, look, "known for", timefmt_age(now_s - as_of_s, age));
}

/* Returns whether there is any. */
static bool add_ends(const cJSON *report, const struct look *look, int64_t now_s, struct str *out)
{
    AUTO(str) struct str expected = {0}, latest = {0};
    char left[TIMEFMT_RFC3339_SIZE];

    if (time_left(report, "expectedEnd", now_s, left))
        str_addf(&expected, "in %s, as its program reports (%lld %%)", left,
                 (long long)json_i64(report, "percentage", 0));
    if (time_left(report, "latestEnd", now_s, left))
        str_addf(&latest, "in %s at the latest, by its limit of time", left);
    if (expected.len > 0)
        row_add(out, look, "ends", str_text(&expected));
    if (latest.len > 0)
        row_add(out, look, expected.len > 0 ? "" : "ends", str_text(&latest));
    return expected.len > 0 || latest.len > 0;
}

void eta_print(const cJSON *report, const struct look *look, bool wide, int64_t now_s, struct str *out)
{
    const cJSON *forecast = json_at(report, "forecast");
    AUTO(str) struct str sign = {0};
    char age[TIMEFMT_RFC3339_SIZE];
    int64_t ended_s;
    bool is_running = str_eq(json_str(report, "status", ""), "Running");

    (void)str_add_visible(out, slice_of(json_str(report, "metadata/name", "")), VISIBLE_LINE);
    str_adds(out, ": ");
    (void)str_add_visible(out, slice_of(json_str(report, "status", "")), VISIBLE_LINE);
    if (timefmt_parse_rfc3339(json_str(report, "completionTime", NULL), &ended_s)) {
        str_addf(out, ", %s ago\n", timefmt_age(now_s - ended_s, age));
        return;
    }
    str_addc(out, '\n');
    operator_sign_add(&sign, report, now_s);
    if (sign.len > 0)
        row_add(out, look, "note", str_text(&sign));
    if (forecast)
        add_start(forecast, look, wide, now_s, out);
    if (!add_ends(report, look, now_s, out) && !forecast)
        paragraph_add(out, look, 2,
                      is_running ? "No end is known: it reports no progress and has no limit of time."
                                 : "No time is known: it reports no progress, has no limit of time, and no "
                                   "forecast of its start.");
}
