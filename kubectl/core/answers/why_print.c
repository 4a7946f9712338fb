#include <string.h>

#include "base/core/mem.h"
#include "base/core/visible.h"
#include "base/text/timefmt.h"
#include "kubectl/core/answers/eta.h"
#include "kubectl/core/operator_sign.h"
#include "kubectl/core/answers/why.h"
#include "operator/api/observed/log_tail.h"

enum { SHOWN_MAX = 5, LAST_LINES = 10 };

struct page {
    struct str *out;
    const struct look *look;
    int64_t now_s;
    bool wide;
};

static void add_row(const struct page *page, const char *label, const char *text)
{
    row_add(page->out, page->look, label, text);
}

static void add_rowf(const struct page *page, const char *label, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void add_rowf(const struct page *page, const char *label, const char *fmt, ...)
{
    AUTO(mem) char *text = NULL;
    va_list args;

    va_start(args, fmt);
    text = mem_vprintf(fmt, args);
    va_end(args);
    add_row(page, label, text);
}

/* A time that lies ahead comes from another clock: it says nothing. */
static bool age_of(const struct page *page, const char *time, char age[TIMEFMT_RFC3339_SIZE])
{
    int64_t at_s;

    if (!timefmt_parse_rfc3339(time, &at_s) || at_s > page->now_s)
        return false;
    timefmt_age(page->now_s - at_s, age);
    return true;
}

static void add_headline(const struct page *page, const cJSON *report)
{
    AUTO(mem) char *reason = visible_new(json_str(report, "reason", ""), VISIBLE_LINE);
    AUTO(mem) char *of = visible_new(json_str(report, "metadata/name", ""), VISIBLE_LINE);
    const char *name = json_str(report, "situation", "");
    AUTO(str) struct str rest = {0};
    AUTO(str) struct str line = {0};
    enum paint paint = PAINT_NONE;
    char age[TIMEFMT_RFC3339_SIZE];

    for (size_t i = 0; i < situation_count; i++) {
        if (str_eq(situations[i].name, name))
            paint = situations[i].paint;
    }
    str_addf(&line, "%s ", of);
    paint_add(&line, page->look, paint, json_str(report, "summary", ""));
    if (*reason && !str_eq(reason, name))
        str_addf(&rest, ": %s", reason);
    if (age_of(page, json_str(report, "since", NULL), age))
        str_addf(&rest, ", for %s", age);
    str_addf(page->out, "%s%s\n", str_text(&line), str_text(&rest));
}

static void add_queue(const struct page *page, const cJSON *queue)
{
    AUTO(str) struct str text = {0};
    int64_t place = json_i64(queue, "position", 0), fitting = json_i64(queue, "fittingPartitions", 0);

    if (!queue)
        return;
    add_rowf(page, "needs", "%lld %s for its next instance", (long long)json_i64(queue, "ipus", 0),
             json_i64(queue, "ipus", 0) == 1 ? "IPU" : "IPUs");
    if (json_at(queue, "freeIpus")) {
        str_addf(&text, "%lld of %lld IPUs, enough for ", (long long)json_i64(queue, "freeIpus", 0),
                 (long long)json_i64(queue, "totalIpus", 0));
        if (fitting == 0)
            str_adds(&text, "no partition of this size");
        else
            str_add_count(&text, (uint64_t)fitting, "partition of this size", "partitions of this size");
        add_row(page, "free", str_text(&text));
    }
    if (place > 0)
        add_rowf(page, "place", "%lld in the queue of %s", (long long)place,
                 json_str(queue, "controller", "?"));
    else
        add_rowf(page, "place", "after the first ten in the queue of %s", json_str(queue, "controller", "?"));
    str_clear(&text);
    JSON_EACH (job, json_at(queue, "blockedBy"))
        str_addf(&text, "%s%s", text.len ? ", " : "", json_str(job, "", ""));
    if (text.len)
        add_row(page, place > 1 ? "next" : "blocked by", str_text(&text));
}

static void add_start(const struct page *page, const cJSON *forecast)
{
    AUTO(str) struct str text = {0};

    if (!forecast)
        return;
    start_add(&text, forecast, page->now_s);
    add_row(page, "starts", str_text(&text));
}

/* Its last lines, each on a row; of mpirun's reports only if there is nothing else, and the job's message
 * does not say it in other words. */
static void add_last_lines(const struct page *page, const char *message)
{
    AUTO(mem) char *words = log_tail_without_reports(message);
    struct slice last = log_tail_last_line(message);
    bool is_translated = last.len > 0 && !memmem(message, strlen(message), last.ptr, last.len);
    AUTO(strv) struct strv lines = {0};

    strv_split(*words || is_translated ? words : message, '\n', &lines);
    for (size_t i = lines.count > LAST_LINES ? lines.count - LAST_LINES : 0; i < lines.count; i++)
        add_rowf(page, "", "| %s", lines.items[i]);
}

static void add_failure(const struct page *page, const cJSON *report)
{
    const cJSON *failures = json_at(report, "failures"), *failure = failures ? failures->child : NULL;
    AUTO(str) struct str text = {0};
    char age[TIMEFMT_RFC3339_SIZE];

    if (!failure)
        return;
    str_addf(&text, "%s: pod %s", json_str(failure, "reason", "failed"), json_str(failure, "pod", "?"));
    if (json_at(failure, "container"))
        str_addf(&text, ", container %s", json_str(failure, "container", ""));
    if (json_i64(failure, "signal", 0) > 0)
        str_addf(&text, ", signal %lld", (long long)json_i64(failure, "signal", 0));
    else if (json_at(failure, "exitCode"))
        str_addf(&text, ", exit code %lld", (long long)json_i64(failure, "exitCode", 0));
    if (json_at(failure, "node"))
        str_addf(&text, ", node %s", json_str(failure, "node", ""));
    if (age_of(page, json_str(failure, "time", NULL), age))
        str_addf(&text, ", %s ago", age);
    add_row(page, "failure", str_text(&text));
    add_last_lines(page, json_str(failure, "message", ""));
}

/* Of a container that ended, the message is the end of its log, whose first line tells nothing. */
static struct slice line_of_message(const char *reason, const char *message)
{
    if (str_eq(reason, "ContainerFailed"))
        return log_tail_last_line(message);
    if (str_eq(reason, "OOMKilled"))
        return (struct slice){"", 0};
    return (struct slice){message, strcspn(message, "\n")};
}

static void add_pod(const struct page *page, const cJSON *pod)
{
    AUTO(str) struct str text = {0};
    struct slice line = line_of_message(json_str(pod, "reason", ""), json_str(pod, "message", ""));

    str_addf(&text, "%s [%s]", json_str(pod, "name", ""), json_str(pod, "rank", ""));
    if (json_at(pod, "node"))
        str_addf(&text, " on %s", json_str(pod, "node", ""));
    str_addf(&text, ": %s", json_str(pod, "reason", json_str(pod, "phase", "Unknown")));
    if (line.len > 0)
        str_addf(&text, ": %.*s", (int)line.len, line.ptr);
    add_row(page, "pod", str_text(&text));
}

static void add_pods(const struct page *page, const cJSON *pods)
{
    size_t shown = 0, hidden = 0;

    JSON_EACH (pod, pods) {
        if (!page->wide && !json_bool(pod, "conspicuous", false))
            continue;
        if (page->wide || shown < SHOWN_MAX)
            add_pod(page, pod);
        else
            hidden++;
        shown++;
    }
    if (hidden)
        add_rowf(page, "", "and %zu more; see -o wide", hidden);
}

/* The newest, the last one last. */
static void add_events(const struct page *page, const cJSON *events)
{
    size_t count = 0, seen = 0;

    JSON_EACH (event, events)
        count += page->wide || str_eq(json_str(event, "type", ""), "Warning");
    JSON_EACH (event, events) {
        AUTO(str) struct str text = {0};
        char age[TIMEFMT_RFC3339_SIZE];

        if (!page->wide && !str_eq(json_str(event, "type", ""), "Warning"))
            continue;
        if (!page->wide && count - seen++ > SHOWN_MAX)
            continue;
        if (age_of(page, json_str(event, "time", NULL), age))
            str_addf(&text, "%s ago: ", age);
        str_addf(&text, "%s: %s: %s", json_str(event, "object", ""), json_str(event, "reason", ""),
                 json_str(event, "note", ""));
        for (char *at = text.ptr; at && *at; at++)
            *at = *at == '\n' ? ' ' : *at;
        add_row(page, "event", str_text(&text));
    }
}

static void add_partitions(const struct page *page, const cJSON *partitions)
{
    JSON_EACH (partition, partitions) {
        const char *state = json_str(partition, "state", ""), *message = json_str(partition, "message", "");

        if (page->wide || !str_eq(state, "Active"))
            add_rowf(page, "partition", "%s: %s%s%s", json_str(partition, "id", ""), state,
                     *message ? ": " : "", message);
    }
}

void why_print(const cJSON *report, const struct look *look, bool wide, int64_t now_s, struct str *out)
{
    const struct page page = {.out = out, .look = look, .now_s = now_s, .wide = wide};
    const char *message = json_str(report, "message", "");
    AUTO(str) struct str sign = {0};

    operator_sign_add(&sign, report, now_s);
    add_headline(&page, report);
    if (sign.len > 0)
        add_row(&page, "note", str_text(&sign));
    if (*message)
        add_row(&page, "message", message);
    if (json_bool(report, "outdated", false))
        add_row(&page, "note", "the operator has not seen the last change of the spec yet");
    add_queue(&page, json_at(report, "queue"));
    add_start(&page, json_at(report, "forecast"));
    if (json_at(report, "startFailure"))
        add_rowf(&page, "last start", "%s: %s", json_str(report, "startFailure/reason", ""),
                 json_str(report, "startFailure/message", ""));
    add_partitions(&page, json_at(report, "partitions"));
    if (!str_eq(json_str(report, "situation", ""), "Completed"))
        add_failure(&page, report);
    add_pods(&page, json_at(report, "pods"));
    add_events(&page, json_at(report, "events"));
    if (json_str(report, "advice", NULL))
        add_rowf(&page, "what to do", "%s.", json_str(report, "advice", ""));
    JSON_EACH (sentence, json_at(report, "unread"))
        add_row(&page, "not read", json_str(sentence, "", ""));
}
