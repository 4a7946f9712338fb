#include "operator/api/admission/defaults.h"

#include "lib/check.h"

static cJSON *parse(const char *text)
{
    struct err err = {0};
    cJSON *doc = json_parse(slice_of(text), &err);

    CHECK_OK(doc != NULL, err);
    return doc;
}

#define RESTART                                                                                              \
    "{\"op\":\"add\",\"path\":\"/spec/restartPolicy\",\"value\":{\"type\":\"Never\",\"backOffLimit\":3}}"
#define CLEAN "{\"op\":\"add\",\"path\":\"/spec/cleanPodPolicy\",\"value\":\"None\"}"

TEST(what_is_open_is_written_out)
{
    static const struct {
        const char *spec, *patch;
    } rows[] = {
        {"{}", "[" RESTART "," CLEAN "]"},
        {"{\"restartPolicy\":{\"type\":\"Always\"},\"cleanPodPolicy\":\"All\"}", "[]"},
        {"{\"restartPolicy\":{\"backOffLimit\":7},\"cleanPodPolicy\":\"All\"}",
         "[{\"op\":\"add\",\"path\":\"/spec/restartPolicy/type\",\"value\":\"Never\"}]"},
        {"{\"ipusPerJobInstance\":4,\"modelReplicasPerWorker\":\"2\",\"workersPerJobInstance\":16,"
         "\"cleanPodPolicy\":\"All\",\"restartPolicy\":{\"type\":\"Never\"}}",
         "[{\"op\":\"add\",\"path\":\"/spec/ipusPerJobInstance\",\"value\":\"4\"},"
         "{\"op\":\"add\",\"path\":\"/spec/workersPerJobInstance\",\"value\":\"16\"}]"},
        /* What is wrong is left for the one who judges. */
        {"{\"restartPolicy\":5,\"cleanPodPolicy\":7,\"ipusPerJobInstance\":true}", "[]"},
        {"{\"restartPolicy\":null,\"cleanPodPolicy\":\"\"}", "[]"},
        {"[]", "[]"},
        {"\"text\"", "[]"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *text = mem_printf("{\"spec\":%s}", row->spec);
        AUTO(json) cJSON *job = parse(text);
        AUTO(json) cJSON *patch = defaults_patch(job);
        AUTO(mem) char *got = json_print(patch);

        CHECK_STR_EQ(got, row->patch);
    }
}

TEST(what_is_no_job_gets_nothing)
{
    AUTO(json) cJSON *job = parse("{}");
    AUTO(json) cJSON *patch = defaults_patch(job);

    CHECK(patch->child == NULL);
    AUTO(json) cJSON *none = defaults_patch(NULL);
    CHECK(none->child == NULL);
}
