#include "operator/api/job/additions.h"

#include <string.h>
#include <time.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/api/field.h"

#define JOB(more) "{\"kind\":\"IPUJob\",\"metadata\":{},\"spec\":{\"jobInstances\":1" more "}}"
#define LIMITS(resource)                                                                                     \
    ",\"workers\":{\"template\":{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"" resource          \
    "\":\"4\"}}}]}}}"

static void check(const char *old_text, const char *text, struct strv *ret)
{
    struct err err = {0};
    AUTO(json) cJSON *old = old_text ? json_parse(slice_of(old_text), &err) : NULL;
    AUTO(json) cJSON *job = json_parse(slice_of(text), &err);

    CHECK_OK(job, err);
    additions_check(old, job, ret);
}

TEST(what_no_job_has_is_named)
{
    static const struct {
        const char *job, *problem;
    } rows[] = {
        {JOB(",\"jobInstnaces\":1"),
         "spec.jobInstnaces: Forbidden: unknown field; did you mean jobInstances?"},
        {JOB(",\"colour\":1"), "spec.colour: Forbidden: unknown field"},
        {"{\"spce\":{}}", "spce: Forbidden: unknown field; did you mean spec?"},
        {JOB(",\"partition\":{\"gcd\":1}"),
         "spec.partition.gcd: Forbidden: unknown field; did you mean gcds?"},
        {JOB(",\"workers\":{\"strategy\":{\"rollingUpdate\":{\"maxSrge\":1}}}"),
         "spec.workers.strategy.rollingUpdate.maxSrge: Forbidden: unknown field; did you mean maxSurge?"},
        {JOB(",\"launcher\":{\"cmd\":[]}"), "spec.launcher.cmd: Forbidden: unknown field"},
        {JOB(",\"interactive\":{\"x\":1}"), "spec.interactive.x: Forbidden: unknown field"},
        {JOB(",\"suspend\":null"), NULL}, /* as the API server, which drops it */
        {JOB(LIMITS("graphcore.ai/ipu")), "spec.workers.template.spec.containers[0].resources.limits["
                                          "graphcore.ai/ipu]: Forbidden: no node has this "
                                          "resource; remove it, spec.ipusPerJobInstance requests IPUs"},
        {JOB(LIMITS("c600.graphcore.ai/ipu")), NULL}, /* the device plugin of PCIe cards */
        {JOB(",\"workers\":{\"template\":{\"metadata\":{\"annotations\":{\"graphcore.ai/"
             "stopped-at\":\"x\"}}}}"),
         "spec.workers.template.metadata.annotations[graphcore.ai/stopped-at]: Forbidden: the prefix "
         "graphcore.ai/ is reserved for the operator; choose another name"},
        {JOB(",\"launcher\":{\"template\":{\"metadata\":{\"labels\":{\"graphcore.ai/job-uid\":\"x\"}}}}"),
         "spec.launcher.template.metadata.labels[graphcore.ai/job-uid]: Forbidden: the prefix "
         "graphcore.ai/ is reserved for the operator; choose another name"},
        {JOB(",\"workers\":{\"template\":{\"metadata\":{\"labels\":{\"app.graphcore.ai/x\":\"x\"}}}}"), NULL},
        {JOB(",\"workers\":{\"template\":{\"anything\":1}}"), NULL}, /* the dry run's to report */
        {JOB(",\"restartPolicy\":7"), NULL},
        {"{\"spec\":7}", NULL},
    };

    CHECK_ROWS (row, rows) {
        AUTO(strv) struct strv problems = {0};

        check(NULL, row->job, &problems);
        CHECK_STR_EQ(problems.count ? problems.items[0] : NULL, row->problem);
        CHECK_INT_EQ(problems.count, row->problem != NULL);
    }
}

/* A later version, or the vendor's, may have accepted it. */
TEST(what_a_job_has_already_is_not_held_against_it)
{
    AUTO(strv) struct strv problems = {0};

    check(JOB(",\"later\":1" LIMITS("graphcore.ai/ipu")), JOB(",\"later\":2" LIMITS("graphcore.ai/ipu")),
          &problems);
    CHECK_INT_EQ(problems.count, 0);
    check(JOB(",\"later\":1"), JOB(",\"later\":1,\"more\":1"), &problems);
    CHECK_INT_EQ(problems.count, 1);
    CHECK_STR_EQ(problems.items[0], "spec.more: Forbidden: unknown field");
}

TEST(a_key_of_any_length_is_cut_in_the_message)
{
    AUTO(str) struct str text = {0};
    AUTO(strv) struct strv problems = {0};

    str_adds(&text, "{\"spec\":{\"");
    for (int i = 0; i < 10000; i++)
        str_adds(&text, "\xC3\xA4");
    str_adds(&text, "\":1}}");
    check(NULL, str_text(&text), &problems);
    CHECK_INT_EQ(problems.count, 1);
    CHECK(strlen(problems.items[0]) < 400);
    CHECK_HAS(problems.items[0], "\xC3\xA4: Forbidden: unknown field");
}

/* All other jobs wait meanwhile. */
TEST(many_unknown_fields_take_no_time)
{
    AUTO(str) struct str text = {0};
    AUTO(strv) struct strv problems = {0};

    str_adds(&text, "{\"spec\":{");
    for (int i = 0; i < 90000; i++)
        str_addf(&text, "\"activeDeadlineSecond%d\":1,", i);
    str_adds(&text, "\"suspend\":true}}");
    clock_t start = clock();
    check(NULL, str_text(&text), &problems);
    CHECK((clock() - start) / CLOCKS_PER_SEC < 1);
    CHECK_INT_EQ(problems.count, FIELD_PROBLEMS_MAX);
}
