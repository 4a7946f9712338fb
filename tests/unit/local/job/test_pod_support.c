#include "local/job/pod_support.h"

#include "base/core/mem.h"
#include "lib/check.h"

static char name[] = "f";
static const struct object_file file = {.name = name};

static cJSON *job_with(const char *pod)
{
    AUTO(mem)
    char *text = mem_printf("{\"kind\":\"IPUJob\",\"metadata\":{\"namespace\":\"default\"},\"spec\":{"
                            "\"workers\":{\"template\":{\"spec\":%s}}}}",
                            pod);
    struct err err;
    cJSON *doc = json_parse(slice_of(text), &err);

    CHECK(doc != NULL);
    return doc;
}

#define RUNS "\"name\":\"a\",\"command\":[\"x\"]"

/* What is told of a pod, without its place; NULL: it is honoured. */
TEST(each_field_is_decided_by_the_longest_path)
{
    static const struct {
        const char *pod, *note, *problem;
    } rows[] = {
        {"{\"containers\":[{" RUNS ",\"env\":[{\"name\":\"A\",\"value\":\"b\"}]}]}", NULL, NULL},
        {"{\"containers\":[{" RUNS ",\"env\":[{\"name\":\"A\",\"valueFrom\":{\"resourceFieldRef\":{}}}]}]}",
         NULL, "containers[0].env[0].valueFrom.resourceFieldRef: not possible without a cluster"},
        {"{\"containers\":[{" RUNS ",\"image\":\"i\"}]}", "approximated  containers[].image", NULL},
        {"{\"initContainers\":[{" RUNS ",\"image\":\"i\"}],\"containers\":[{" RUNS "}]}",
         "approximated  containers[].image", NULL},
        {"{\"containers\":[{" RUNS "}],\"volumes\":[{\"name\":\"v\",\"nfs\":{}}]}", NULL,
         "volumes[0].nfs: not possible"},
        {"{\"containers\":[{" RUNS
         "}],\"volumes\":[{\"name\":\"v\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{}}]}}]}",
         NULL, "volumes[0].projected.sources[0].serviceAccountToken: not possible"},
        {"{\"containers\":[{" RUNS "}],\"containers[0]\":{\"args\":[]}}", NULL,
         "containers[0]: Forbidden: unknown field"},
        {"{\"containers\":[{" RUNS "}],\"volumes.name\":1}", NULL, "volumes.name: Forbidden: unknown field"},
        {"{\"containers\":[{" RUNS "}],\"nodeSelektor\":{}}", NULL, "nodeSelektor: Forbidden: unknown field"},
        {"{\"containers\":[{" RUNS "}],\"nodeSelector\":{\"a\":\"b\"}}", "ignored       nodeSelector", NULL},
        {"{\"containers\":[{\"name\":\"a\"}]}", NULL, "containers[0].command: Required value"},
        {"{\"containers\":[{" RUNS ",\"tty\":null}]}", NULL, NULL},
    };

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *doc = job_with(row->pod);
        const struct object job = {.file = &file, .original = doc, .doc = doc};
        AUTO(strv) struct strv notes = {0}, problems = {0};

        pod_support_check(&job, false, &notes, &problems);
        CHECK_INT_EQ(notes.count, row->note != NULL);
        CHECK_INT_EQ(problems.count, row->problem != NULL);
        if (row->note)
            CHECK_HAS(notes.items[0], row->note);
        if (row->problem)
            CHECK_HAS(problems.items[0], row->problem);
        strv_release(&problems);
        problems = (struct strv){0};
        pod_support_check(&job, true, &notes, &problems);
        CHECK_INT_EQ(problems.count, row->note || row->problem);
    }
}

TEST(a_row_has_words_unless_it_is_honoured)
{
    for (const struct pod_support_row *row = pod_support_rows; row->path; row++)
        CHECK((row->how == SUPPORT_HONOURED) == (row->why == NULL));
}
