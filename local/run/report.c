#include "local/run/report.h"

#include <errno.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/terminal.h"
#include "operator/api/names.h"

char *report_tag(const cJSON *pod, const char *container, bool names_job)
{
    const cJSON *labels = json_at(pod, "metadata/labels"), *containers = json_at(pod, "spec/containers");
    const char *instance = json_str(labels, "graphcore.ai~1instance", "0");
    const char *job = names_job ? json_str(labels, "graphcore.ai~1job-name", "") : "";
    const char *worker = json_str(labels, "graphcore.ai~1worker", ROLE_LAUNCHER);
    bool is_first = str_eq(json_str(containers ? containers->child : NULL, "name", ""), container);

    return mem_printf("[%s%s%s.%s%s%s]", job, *job ? " " : "", instance, worker, is_first ? "" : " ",
                      is_first ? "" : container);
}

/* The same rank keeps its colour: red and black are left out. */
static int colour_of(const char *tag)
{
    static const int colours[] = {32, 33, 34, 35, 36, 92, 93, 94, 95, 96};

    return colours[str_hash(tag) % COUNT_OF(colours)];
}

static void print(struct report *report, const struct str *text)
{
    if (report->is_broken ||
        (fwrite(str_text(text), 1, text->len, report->out) == text->len && fflush(report->out) == 0))
        return;
    report->is_broken = true;
    (void)fprintf(stderr, "ipu-run: deleting the job, as its output cannot be written: %s\n",
                  strerror(errno));
}

void report_line(struct report *report, const cJSON *pod, const char *container,
                 const struct container_line *line)
{
    AUTO(mem) char *tag = report_tag(pod, container, report->name_width > 0);
    AUTO(str) struct str text = {0};
    const char *mark = line->is_continued ? "+" : "";

    if (report->has_colour)
        str_addf(&text, "\x1b[%dm%s%s\x1b[0m ", colour_of(tag), tag, mark);
    else
        str_addf(&text, "%s%s ", tag, mark);
    if (report->is_terminal)
        terminal_add(&text, line->text);
    else
        str_add(&text, line->text.ptr, line->text.len);
    str_addc(&text, '\n');
    print(report, &text);
}

void report_status(struct report *report, int64_t now_ms, const char *job, const char *state,
                   const char *message)
{
    AUTO(str) struct str text = {0};

    str_addf(&text, "%5.1f s  ", (double)(now_ms - report->begun_ms) / 1000);
    if (report->name_width > 0)
        str_addf(&text, "%-*s  ", report->name_width, job);
    str_addf(&text, *message ? "%-11s %s\n" : "%s%s\n", state, message);
    print(report, &text);
}

void report_progress(struct report *report, int64_t now_ms, const char *job, const cJSON *status)
{
    const cJSON *metrics = json_at(status, "trainerStatus/metrics"), *first = metrics ? metrics->child : NULL;
    const char *problem = json_str(status, "progress/problem", NULL);
    AUTO(str) struct str text = {0};

    str_adds(&text, json_str(status, "progress/summary", ""));
    if (first)
        str_addf(&text, ", %s %s", json_str(first, "name", ""), json_str(first, "value", ""));
    if (problem)
        str_addf(&text, ": %s", problem);
    report_status(report, now_ms, job, "Progress", str_text(&text));
}
