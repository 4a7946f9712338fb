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
        {"{\"containers\":[{" RUNS "}],\"volumes\":[{\"name\":\"v\",\"nfs\":{}}]}", NULL,
         "volumes[0].nfs: not possible"},
        {"{\"containers\":[{" RUNS
         "}],\"volumes\":[{\"name\":\"v\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{}}]}}]}",
         NULL, "volumes[0].projected.sources[0].serviceAccountToken: not possible"},
        {"{\"containers\":[{" RUNS "}],\"containers[0]\":{\"args\":[]}}", NULL,
         "containers[0]: Forbidden: unknown field"},
        {"{\"containers\":[{" RUNS "}],\"volumes.name\":1}", NULL, "volumes.name: Forbidden: unknown field"},
        {"{\"containers\":[{" RUNS "}],\"nodeSelektor\":{}}", NULL,
         "nodeSelektor: Forbidden: unknown field; did you mean nodeSelector?"},
        {"{\"containers\":[{" RUNS "}],\"volumes\":[{\"name\":\"v\",\"emptyDirr\":{}}]}", NULL,
         "volumes[0].emptyDirr: Forbidden: unknown field; did you mean emptyDir?"},
        {"{\"containers\":[{" RUNS "}],\"volumes\":[{\"name\":\"v\",\"nsf\":{}}]}", NULL,
         "volumes[0].nsf: Forbidden: unknown field; did you mean nfs?"},
        {"{\"containers\":[{" RUNS ",\"env\":[{\"name\":\"A\",\"vale\":\"b\"}]}]}", NULL,
         "containers[0].env[0].vale: Forbidden: unknown field; did you mean value?"},
        {"{\"containers\":[{" RUNS ",\"env\":[{\"name\":\"A\",\"valueFrom\":{\"fieldReff\":{}}}]}]}", NULL,
         "valueFrom.fieldReff: Forbidden: unknown field; did you mean fieldRef?"},
        {"{\"containers\":[{" RUNS "}],\"volumes\":5}", NULL, "volumes: Invalid value: must be a list"},
        {"{\"containers\":[{" RUNS ",\"env\":{\"A\":\"B\"}}]}", NULL,
         "containers[0].env: Invalid value: must be a list"},
        {"{\"containers\":[{" RUNS ",\"env\":[[]]}]}", NULL,
         "containers[0].env[0]: Invalid value: must be an object"},
        {"{\"containers\":[{" RUNS ",\"volumeMounts\":[{\"name\":\"v\"},{\"name\":\"w\"}]}],\"volumes\":[{"
         "\"name\":\"v\"}]}",
         NULL, "containers[0].volumeMounts[1].name: Not found: \"w\""},
        {"{\"containers\":[{" RUNS ",\"volumeMounts\":[{\"name\":\"v\",\"subPath\":\"a..b\"},{\"name\":\"v\","
         "\"subPath\":\"a/../b\"}]}],\"volumes\":[{\"name\":\"v\"}]}",
         NULL, "containers[0].volumeMounts[1].subPath: Invalid value"},
        {"{\"containers\":[{" RUNS "}],\"nodeSelector\":{\"a\":\"b\"}}", "ignored       nodeSelector", NULL},
        {"{\"containers\":[{" RUNS ",\"resources\":{\"limits\":{\"example.com/device\":1}}}]}",
         "ignored       containers[].resources", NULL},
        {"{\"containers\":[{\"name\":\"a\"}]}", NULL, "containers[0].command: Required value"},
        {"{\"containers\":[{" RUNS ",\"tty\":null}]}", NULL, NULL},
    };

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *doc = job_with(row->pod);
        const struct object job = {.file = &file, .original = doc, .doc = doc};
        AUTO(strv) struct strv notes = {0}, problems = {0};

        pod_support_check(&job, ENGINE_PROCESS, false, &notes, &problems);
        CHECK_INT_EQ(notes.count, (row->note != NULL) + 1); /* there is no image */
        CHECK_INT_EQ(problems.count, row->problem != NULL);
        if (row->note)
            CHECK_HAS(notes.items[0], row->note);
        if (row->problem)
            CHECK_HAS(problems.items[0], row->problem);
        strv_release(&problems);
        problems = (struct strv){0};
        pod_support_check(&job, ENGINE_PROCESS, true, &notes, &problems);
        CHECK_INT_EQ(problems.count, (row->note || row->problem) + 1);
    }
}

#define WITH_IMAGE "{" RUNS ",\"image\":\"i\"}"

TEST(an_image_is_not_needed_but_by_a_cluster)
{
    static const struct {
        const char *pod, *launcher, *note, *problem;
    } rows[] = {
        {"{\"containers\":[" WITH_IMAGE "]}", "{}", "approximated  containers[].image", NULL},
        {"{\"containers\":[{" RUNS "}]}", "{}", "ignored       containers[].image is missing",
         "spec.workers.template.spec.containers[0].image: Required value"},
        {"{\"initContainers\":[{" RUNS "}]}", "{}", "ignored       containers[].image is missing",
         "initContainers[0].image: Required value"},
        {"{}", "{\"template\":{\"spec\":{\"containers\":[{" RUNS "}]}}}", NULL, NULL},
        {"{}", "{\"template\":{\"spec\":{\"initContainers\":[{" RUNS "}]}}}",
         "ignored       containers[].image is missing",
         "spec.launcher.template.spec.initContainers[0].image: Required value"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *doc = job_with(row->pod);
        const struct object job = {.file = &file, .original = doc, .doc = doc};
        AUTO(strv) struct strv notes = {0}, problems = {0};
        struct err err;

        json_put_take(json_at_mut(doc, "spec"), "launcher", json_parse(slice_of(row->launcher), &err));
        pod_support_check(&job, ENGINE_PROCESS, false, &notes, &problems);
        pod_support_check(&job, ENGINE_PROCESS, true, &notes, &problems);
        CHECK_INT_EQ(notes.count, row->note != NULL);
        CHECK_INT_EQ(problems.count, row->problem != NULL);
        if (row->note)
            CHECK_HAS(notes.items[0], row->note);
        if (row->problem)
            CHECK_HAS(problems.items[0], row->problem);
    }
}

TEST(a_port_is_of_one_pod)
{
    static const struct {
        const char *instances, *workers, *problem;
    } rows[] = {
        {"1", "1", NULL},
        {"1", "2", "run one pod, with --set spec.workersPerJobInstance=1"},
        {"2", "1", "run one pod, with --set spec.jobInstances=1"},
        {"2", "2", "with --set spec.jobInstances=1 --set spec.workersPerJobInstance=1"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *doc = job_with("{\"containers\":[{" RUNS ",\"ports\":[{\"containerPort\":80}]}]}");
        const struct object job = {.file = &file, .original = doc, .doc = doc};
        AUTO(strv) struct strv notes = {0}, problems = {0};

        json_put_str(json_at_mut(doc, "spec"), "jobInstances", row->instances);
        json_put_str(json_at_mut(doc, "spec"), "workersPerJobInstance", row->workers);
        pod_support_check(&job, ENGINE_PROCESS, false, &notes, &problems);
        CHECK_INT_EQ(problems.count, row->problem != NULL);
        if (row->problem)
            CHECK_HAS(problems.items[0], row->problem);
    }
}

TEST(a_pull_policy_that_no_cluster_has_is_rejected)
{
    AUTO(json)
    cJSON *doc = job_with("{\"containers\":[{" RUNS ",\"image\":\"i\",\"imagePullPolicy\":"
                          "\"IfNotpresent\"}]}");
    const struct object job = {.file = &file, .original = doc, .doc = doc};
    AUTO(strv) struct strv notes = {0}, problems = {0};

    pod_support_check(&job, ENGINE_PODMAN, false, &notes, &problems);
    CHECK_INT_EQ(problems.count, 1);
    CHECK_HAS(problems.items[0], "containers[0].imagePullPolicy: Unsupported value: \"IfNotpresent\"");
}

TEST(a_launcher_mounts_volumes_of_its_workers)
{
    static const struct {
        const char *name, *problem;
    } rows[] = {
        {"of-workers", NULL},
        {"own", NULL},
        {"none", "spec.launcher.template.spec.containers[0].volumeMounts[0].name: Not found: \"none\""}};

    CHECK_ROWS (row, rows) {
        AUTO(json)
        cJSON *doc = job_with("{\"volumes\":[{\"name\":\"of-workers\"}],\"containers\":[{\"name\":\"a\"}]}");
        const struct object job = {.file = &file, .original = doc, .doc = doc};
        AUTO(strv) struct strv notes = {0}, problems = {0};
        AUTO(mem)
        char *launcher =
            mem_printf("{\"template\":{\"spec\":{\"volumes\":[{\"name\":\"own\"}],\"containers\":[{"
                       "\"name\":\"a\",\"volumeMounts\":[{\"name\":\"%s\"}]}]}}}",
                       row->name);
        struct err err;

        json_put_take(json_at_mut(doc, "spec"), "launcher", json_parse(slice_of(launcher), &err));
        pod_support_check(&job, ENGINE_PROCESS, false, &notes, &problems);
        CHECK_INT_EQ(problems.count, row->problem != NULL);
        if (row->problem)
            CHECK_HAS(problems.items[0], row->problem);
    }
}

TEST(a_row_has_words_unless_it_is_honoured)
{
    for (const struct pod_support_row *row = pod_support_rows; row->path; row++)
        for (size_t i = 0; i < ENGINES; i++)
            CHECK((row->of[i].how == SUPPORT_HONOURED) == (row->of[i].why == NULL));
}

TEST(an_engine_that_has_images_honours_more)
{
    AUTO(json)
    cJSON *doc =
        job_with("{\"containers\":[{\"name\":\"a\",\"image\":\"i\",\"imagePullPolicy\":\"Never\"}]}");
    AUTO(json)
    cJSON *without = job_with("{\"containers\":[{\"name\":\"a\",\"resources\":{\"limits\":{\"cpu\":1}}}]}");
    const struct object job = {.file = &file, .original = doc, .doc = doc};
    const struct object bare = {.file = &file, .original = without, .doc = without};
    AUTO(strv) struct strv notes = {0}, problems = {0};

    pod_support_check(&job, ENGINE_PODMAN, true, &notes, &problems);
    CHECK_INT_EQ(problems.count, 0);
    pod_support_check(&job, ENGINE_PROCESS, true, &notes, &problems);
    CHECK_INT_EQ(problems.count, 2); /* the policy and the missing command */
    pod_support_check(&bare, ENGINE_PODMAN, false, &notes, &problems);
    CHECK_INT_EQ(problems.count, 3);
    CHECK_HAS(problems.items[2], "containers[0].image: Required value");
    CHECK_INT_EQ(notes.count, 2);
    CHECK_HAS(notes.items[0], "approximated  containers[].image");
    CHECK_HAS(notes.items[1], "approximated  containers[].resources");
}
