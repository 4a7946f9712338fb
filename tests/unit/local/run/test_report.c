#include "local/run/report.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "lib/check.h"

static cJSON *worker(void)
{
    struct err err;

    return json_parse(SLICE_LIT("{\"metadata\":{\"labels\":{\"graphcore.ai/job-name\":\"train\","
                                "\"graphcore.ai/instance\":\"1\",\"graphcore.ai/worker\":\"3\"}},"
                                "\"spec\":{\"containers\":[{\"name\":\"main\"},{\"name\":\"side\"}]}}"),
                      &err);
}

TEST(a_tag_names_the_rank_and_what_else_is_not_clear)
{
    static const struct {
        const char *container;
        bool names_job;
        const char *want;
    } rows[] = {
        {"main", false, "[1.3]"},
        {"side", false, "[1.3 side]"},
        {"main", true, "[train 1.3]"},
        {"side", true, "[train 1.3 side]"},
    };
    AUTO(json) cJSON *pod = worker();

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *tag = report_tag(pod, row->container, row->names_job);

        CHECK_STR_EQ(tag, row->want);
    }
}

TEST(a_line_says_whether_it_goes_on_and_steers_no_terminal)
{
    static const struct {
        struct report report;
        bool is_continued;
        const char *want;
    } rows[] = {
        {{.is_terminal = true}, false, "[1.3] \x1b[31mred\x1b[0m\n"},
        {{.is_terminal = false}, false, "[1.3] \x1b[2J\x1b[31mred\n"},
        {{.is_terminal = false}, true, "[1.3]+ \x1b[2J\x1b[31mred\n"},
    };
    AUTO(json) cJSON *pod = worker();

    CHECK_ROWS (row, rows) {
        struct report report = row->report;
        char *out = NULL;
        size_t len;

        report.out = open_memstream(&out, &len);
        report_line(&report, pod, "main",
                    &(struct container_line){.text = SLICE_LIT("\x1b[2J\x1b[31mred"),
                                             .is_continued = row->is_continued});
        (void)fclose(report.out);
        CHECK_STR_EQ(out, row->want);
        free(out); /* of stdio */
    }
}

TEST(lines_of_several_jobs_are_in_columns)
{
    static const struct {
        const char *job, *state, *message, *want;
    } rows[] = {
        {"segv", "Running", "Running", " 20.0 s  segv     Running     Running\n"},
        {"sysexit", "Terminating", "Deleting", " 20.0 s  sysexit  Terminating Deleting\n"},
        {"segv", "Deleted", "", " 20.0 s  segv     Deleted\n"},
    };

    CHECK_ROWS (row, rows) {
        struct report report = {.name_width = 7};
        char *out = NULL;
        size_t len;

        report.out = open_memstream(&out, &len);
        report_status(&report, 20000, row->job, row->state, row->message);
        (void)fclose(report.out);
        CHECK_STR_EQ(out, row->want);
        free(out); /* of stdio */
    }
}

TEST(an_invalid_report_of_progress_says_what_is_wrong)
{
    static const struct {
        const char *status, *want;
    } rows[] = {
        {"{\"progress\":{\"summary\":\"40%\"}}", "  0.0 s  Progress    40%\n"},
        {"{\"progress\":{\"summary\":\"unknown (invalid)\",\"problem\":\"no JSON\"}}",
         "  0.0 s  Progress    unknown (invalid): no JSON\n"},
        {"{\"progress\":{\"summary\":\"40% (invalid)\",\"problem\":\"no JSON\"},\"trainerStatus\":{"
         "\"metrics\":[{\"name\":\"loss\",\"value\":\"0.1\"}]}}",
         "  0.0 s  Progress    40% (invalid), loss 0.1: no JSON\n"},
    };

    CHECK_ROWS (row, rows) {
        struct report report = {0};
        struct err err;
        AUTO(json) cJSON *status = json_parse(slice_of(row->status), &err);
        char *out = NULL;
        size_t len;

        report.out = open_memstream(&out, &len);
        report_progress(&report, 0, "train", status);
        (void)fclose(report.out);
        CHECK_STR_EQ(out, row->want);
        free(out); /* of stdio */
    }
}
