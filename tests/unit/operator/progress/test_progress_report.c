/* What programs report: bodies as the clients send them, and others. */
#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/progress/report.h"

/* As transformers' KubeflowCallback sends it. */
TEST(a_report_of_transformers_is_read)
{
    static const char body[] =
        "{\"trainerStatus\": {\"progressPercentage\": 42, \"estimatedRemainingSeconds\": 900, \"metrics\": ["
        "{\"name\": \"loss\", \"value\": \"0.23\"}, {\"name\": \"grad_norm\", \"value\": \"nan\"}], "
        "\"lastUpdatedTime\": \"2026-01-23T10:30:45.123456+00:00\"}}";
    AUTO(progress_report) struct progress_report report = {0};
    struct err err = {0};

    CHECK_OK(progress_report_parse(slice_of(body), &report, &err), err);
    CHECK_INT_EQ(report.percent, 42);
    CHECK_INT_EQ(report.remaining_s, 900);
    CHECK_STR_EQ(report.metrics,
                 "[{\"name\":\"loss\",\"value\":\"0.23\"},{\"name\":\"grad_norm\",\"value\":\"nan\"}]");
    CHECK_INT_EQ(report.dropped_metrics, 0);
    CHECK(!progress_report_is_empty(&report));
}

TEST(what_is_absent_is_not_reported)
{
    static const char *const rows[] = {"{}",
                                       "{\"trainerStatus\":{}}",
                                       "{\"trainerStatus\":null}",
                                       "{\"trainerStatus\":{\"progressPercentage\":null,\"metrics\":null}}",
                                       "{\"trainerStatus\":{\"metrics\":[]}}",
                                       "{\"other\":1}"};

    CHECK_ROWS (row, rows) {
        AUTO(progress_report) struct progress_report report = {0};
        struct err err = {0};

        CHECK_OK(progress_report_parse(slice_of(*row), &report, &err), err);
        CHECK_INT_EQ(report.percent, -1);
        CHECK_INT_EQ(report.remaining_s, -1);
        CHECK(progress_report_is_empty(&report));
    }
}

TEST(nonsense_is_rejected_with_the_field)
{
    static const struct {
        const char *body, *message;
    } rows[] = {
        {"{\"trainerStatus\":{\"progressPercentage\":101}}",
         "trainerStatus.progressPercentage must be a whole number from 0 to 100, got 101"},
        {"{\"trainerStatus\":{\"progressPercentage\":-1}}",
         "trainerStatus.progressPercentage must be a whole number from 0 to 100, got -1"},
        {"{\"trainerStatus\":{\"progressPercentage\":4.5}}",
         "trainerStatus.progressPercentage must be a whole number from 0 to 100, got 4.5"},
        {"{\"trainerStatus\":{\"progressPercentage\":\"42\"}}",
         "trainerStatus.progressPercentage must be a whole number from 0 to 100, got \"42\""},
        {"{\"trainerStatus\":{\"estimatedRemainingSeconds\":1e30}}",
         "trainerStatus.estimatedRemainingSeconds must be a whole number from 0 to 315360000, got 1e+30"},
        {"{\"trainerStatus\":7}", "trainerStatus must be an object"},
        {"[]", "trainerStatus must be an object"},
    };

    CHECK_ROWS (row, rows) {
        struct progress_report report = {0};
        struct err err = {0};

        CHECK_ERR(progress_report_parse(slice_of(row->body), &report, &err), err, ERR_INVALID);
        CHECK_STR_EQ(err.msg, row->message);
    }
}

TEST(a_body_that_is_no_json_is_rejected)
{
    struct progress_report report = {0};
    struct err err = {0};

    CHECK_ERR(progress_report_parse(slice_of("{\"trainerStatus\":"), &report, &err), err, ERR_INVALID);
    CHECK_ERR(progress_report_parse(slice_of(""), &report, &err), err, ERR_INVALID);
}

/* A client whose report is rejected sends it again with every step. */
TEST(metrics_that_cannot_be_kept_are_counted)
{
    AUTO(str) struct str body = {0};
    AUTO(progress_report) struct progress_report report = {0};
    AUTO(json) cJSON *kept = NULL;
    struct err err = {0};

    str_adds(&body, "{\"trainerStatus\":{\"metrics\":[{\"name\":\"a\"},{\"value\":\"1\"},7,"
                    "{\"name\":\"number\",\"value\":1}");
    for (unsigned i = 0; i < PROGRESS_METRICS_MAX + 3; i++)
        str_addf(&body, ",{\"name\":\"m%u\",\"value\":\"1\"}", i);
    str_adds(&body, "]}}");
    CHECK_OK(progress_report_parse(str_slice(&body), &report, &err), err);
    CHECK_INT_EQ(report.dropped_metrics, 7);
    kept = json_parse(slice_of(report.metrics), &err);
    CHECK_INT_EQ(cJSON_GetArraySize(kept), PROGRESS_METRICS_MAX);
}

TEST(texts_are_cut_and_shown)
{
    AUTO(str) struct str body = {0};
    AUTO(progress_report) struct progress_report report = {0};
    AUTO(json) cJSON *kept = NULL;
    struct err err = {0};

    str_adds(&body, "{\"trainerStatus\":{\"metrics\":[{\"name\":\"\\u001b[2J\",\"value\":\"");
    for (unsigned i = 0; i < PROGRESS_TEXT_MAX; i++)
        str_adds(&body, "\xc3\xa4");
    str_adds(&body, "\"}]}}");
    CHECK_OK(progress_report_parse(str_slice(&body), &report, &err), err);
    kept = json_parse(slice_of(report.metrics), &err);
    CHECK_STR_EQ(json_str(kept->child, "name", NULL), "\\x1b[2J");
    CHECK_INT_EQ(strlen(json_str(kept->child, "value", "")), PROGRESS_TEXT_MAX);
}
