#include "local/job/job_check.h"

#include "base/core/mem.h"
#include "lib/check.h"

static char name[] = "f";
static const struct object_file file = {.name = name};

static struct object object_of(const char *spec)
{
    AUTO(mem)
    char *text = mem_printf("{\"apiVersion\":\"graphcore.ai/"
                            "v1alpha1\",\"kind\":\"IPUJob\",\"metadata\":{\"name\":\"j\",\"namespace\":"
                            "\"default\"},\"spec\":%s}",
                            spec);
    struct err err;
    cJSON *doc = json_parse(slice_of(text), &err);

    CHECK(doc != NULL);
    return (struct object){.file = &file, .original = doc, .doc = doc};
}

#define SPEC(size)                                                                                           \
    "{\"jobInstances\":1,\"ipusPerJobInstance\":" size                                                       \
    ",\"workers\":{\"template\":{\"spec\":{\"hostNetwork\":true,\"containers\":[{\"name\":\"a\","            \
    "\"command\":[\"x\"]}]}}}}"

TEST(a_job_gets_the_defaults_of_the_webhooks)
{
    struct object object = object_of(SPEC("4"));
    AUTO(json) cJSON *doc = object.doc;
    AUTO(strv) struct strv notes = {0}, warnings = {0}, problems = {0};

    job_check_all(&(struct objects){.items = &object, .count = 1}, ENGINE_PROCESS, false, 64, &notes,
                  &warnings, &problems);
    CHECK_INT_EQ(problems.count, 0);
    CHECK_STR_EQ(json_str(doc, "spec/ipusPerJobInstance", ""), "4");
    CHECK_STR_EQ(json_str(doc, "spec/restartPolicy/type", ""), "Never");
    CHECK_STR_EQ(json_str(doc, "spec/cleanPodPolicy", ""), "None");
    CHECK(json_at(doc, "spec/workers/template/spec/hostNetwork") == NULL);
    CHECK_INT_EQ(notes.count, 2); /* hostNetwork, and no image */
    CHECK_INT_EQ(warnings.count, 0);
}

TEST(a_job_beyond_the_simulated_system_is_rejected)
{
    static const struct {
        const char *spec;
        uint32_t ipus; /* 0: of a system that is not known */
        const char *problem;
    } rows[] = {
        {SPEC("128"), 64, "the simulated system has 64 IPUs; use --ipus 128"},
        {SPEC("8"), 4, "the simulated system has 4 IPUs; use --ipus 8"},
        {SPEC("128"), 128, NULL},
        {SPEC("128"), 0, NULL},
        {SPEC("192"), 256, "partitions have a power of two of IPUs"},
        {SPEC("192"), 64, "partitions have a power of two of IPUs"},
    };

    CHECK_ROWS (row, rows) {
        struct object object = object_of(row->spec);
        AUTO(strv) struct strv notes = {0}, warnings = {0}, problems = {0};

        job_check_all(&(struct objects){.items = &object, .count = 1}, ENGINE_PROCESS, false, row->ipus,
                      &notes, &warnings, &problems);
        CHECK_INT_EQ(problems.count, row->problem != NULL);
        if (row->problem)
            CHECK_HAS(problems.items[0], row->problem);
        cJSON_Delete(object.doc);
    }
}

TEST(mistakes_of_validation_and_of_this_machine_are_told_together)
{
    struct object object = object_of(
        "{\"jobInstances\":1,\"ipusPerJobInstance\":3,\"workers\":{\"template\":{\"spec\":{\"containers\":[{"
        "\"name\":\"a\",\"tty\":true,\"command\":[\"x\"]}]}}}}");
    AUTO(json) cJSON *doc = object.doc;
    AUTO(strv) struct strv notes = {0}, warnings = {0}, problems = {0};

    job_check_all(&(struct objects){.items = &object, .count = 1}, ENGINE_PROCESS, false, 64, &notes,
                  &warnings, &problems);
    CHECK_INT_EQ(problems.count, 2);
    CHECK_HAS(problems.items[0], "spec.ipusPerJobInstance");
    CHECK_HAS(problems.items[1], "containers[0].tty");
    CHECK(json_at(doc, "spec/cleanPodPolicy") == NULL);
}

TEST(a_value_of_the_wrong_type_is_one_mistake)
{
#define JOB_WITH(container, more)                                                                            \
    "{\"jobInstances\":1,\"ipusPerJobInstance\":4," more                                                     \
    "\"workers\":{\"template\":{\"spec\":{\"containers\":" container "}}}}"
    static const struct {
        const char *spec, *problem;
    } rows[] = {
        {JOB_WITH("[{\"name\":\"a\",\"command\":\"sh -c x\"}]", ""),
         "containers[0].command: Invalid value: \"sh -c x\": must be a list of strings"},
        {JOB_WITH("[{\"name\":\"a\",\"command\":[\"x\"],\"env\":{\"A\":\"B\"}}]", ""),
         "containers[0].env: Invalid value: {\"A\":\"B\"}: must be a list"},
        {JOB_WITH("{\"name\":\"a\"}", ""), "containers: Invalid value: {\"name\":\"a\"}: must be a list"},
        {JOB_WITH("[{\"name\":\"a\",\"command\":[\"x\"]}]", "\"launcher\":\"mpirun\","),
         "spec.launcher: Invalid value: \"mpirun\": must be an object"},
    };

    CHECK_ROWS (row, rows) {
        struct object object = object_of(row->spec);
        AUTO(strv) struct strv notes = {0}, warnings = {0}, problems = {0};

        job_check_all(&(struct objects){.items = &object, .count = 1}, ENGINE_PROCESS, false, 64, &notes,
                      &warnings, &problems);
        CHECK_INT_EQ(problems.count, 1);
        CHECK_HAS(problems.items[0], row->problem);
        cJSON_Delete(object.doc);
    }
}

#define JOB_OF(instances, more)                                                                              \
    "{\"jobInstances\":" instances ",\"ipusPerJobInstance\":4," more                                         \
    "\"workers\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"a\",\"command\":[\"x\"]}]}}}}"

TEST(mistyped_metadata_is_told)
{
    struct object object = object_of("{\"jobInstances\":1,\"ipusPerJobInstance\":4,\"workers\":{\"template\":"
                                     "{\"metadata\":{\"labelz\":{}},"
                                     "\"spec\":{\"containers\":[{\"name\":\"a\",\"command\":[\"x\"]}]}}}}");
    AUTO(json) cJSON *doc = object.doc;
    AUTO(strv) struct strv notes = {0}, warnings = {0}, problems = {0};

    json_put_object(json_at_mut(doc, "metadata"), "anotations");
    json_put_object(json_at_mut(doc, "spec/workers/template"), "sepc");
    job_check_all(&(struct objects){.items = &object, .count = 1}, ENGINE_PROCESS, false, 64, &notes,
                  &warnings, &problems);
    CHECK_INT_EQ(problems.count, 3);
    CHECK_HAS(problems.items[0], "metadata.anotations: Forbidden: unknown field; did you mean annotations?");
    CHECK_HAS(problems.items[1], "template.sepc: Forbidden: unknown field; did you mean spec?");
    CHECK_HAS(problems.items[2], "template.metadata.labelz: Forbidden: unknown field; did you mean labels?");
}

TEST(jobs_that_could_never_end_here_are_rejected)
{
    static const struct {
        const char *spec, *problem;
    } rows[] = {
        {JOB_OF("1", "\"suspend\":true,"), "--set spec.suspend=false"},
        {JOB_OF("0", ""), "--set spec.jobInstances=1"},
        {JOB_OF("1", "\"managedBy\":\"a.b/c\","), "--set spec.managedBy=null"},
        {JOB_OF("1", "\"managedBy\":\"graphcore.ai/ipu-operator\","), NULL},
        {JOB_OF("1", "\"managedBy\":null,\"suspend\":false,"), NULL},
    };

    CHECK_ROWS (row, rows) {
        struct object object = object_of(row->spec);
        AUTO(strv) struct strv notes = {0}, warnings = {0}, problems = {0};

        job_check_all(&(struct objects){.items = &object, .count = 1}, ENGINE_PROCESS, false, 64, &notes,
                      &warnings, &problems);
        CHECK_INT_EQ(problems.count, row->problem != NULL);
        if (row->problem)
            CHECK_HAS(problems.items[0], row->problem);
        cJSON_Delete(object.doc);
    }
}

TEST(an_object_of_another_kind_is_a_mistake_without_a_job_and_with_strict)
{
    struct err err;
    AUTO(json)
    cJSON *other_doc = json_parse(slice_of("{\"kind\":\"IPUjob\",\"metadata\":{\"name\":\"x\"}}"), &err);
    struct object job = object_of(SPEC("4")), other = {.file = &file, .original = other_doc};

    for (int row = 0; row < 3; row++) {
        const bool has_job = row > 0, is_strict = row > 1;
        struct objects objects = {.items = &job, .count = has_job, .unused = &other, .unused_count = 1};
        AUTO(strv) struct strv notes = {0}, warnings = {0}, problems = {0};

        job_check_all(&objects, ENGINE_PROCESS, is_strict, 64, &notes, &warnings, &problems);
        CHECK(strv_has(&notes, "ignored       IPUjob x                              there is no cluster") ==
              (has_job && !is_strict));
        CHECK((problems.count > 0) == (!has_job || is_strict));
        if (problems.count)
            CHECK_HAS(problems.items[problems.count - 1],
                      "f: line 0: kind: Unsupported value: \"IPUjob\": supported values: \"IPUJob\"");
    }
    cJSON_Delete(job.doc);
}

TEST(files_without_a_job_are_a_mistake)
{
    AUTO(strv) struct strv notes = {0}, warnings = {0}, problems = {0};

    job_check_all(&(struct objects){0}, ENGINE_PROCESS, false, 64, &notes, &warnings, &problems);
    CHECK_STR_EQ(problems.items[0], "there is no IPUJob in the files");
}
