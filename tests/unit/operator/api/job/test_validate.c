#include "operator/api/job/validate.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/api/field.h"
#include "operator/api/job/jobspec.h"

#define WORKERS "\"workers\":{\"replicas\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}}"
#define ONE "\"jobInstances\":1,"
#define FOUR ONE "\"ipusPerJobInstance\":4,"
#define TEMPLATE(pod) FOUR "\"workers\":{\"template\":{\"spec\":{" pod "}}}"
#define LAUNCHER(more) FOUR "\"launcher\":{\"command\":[\"a\"]," more "}," WORKERS

static cJSON *job_of(const char *name, const char *spec)
{
    struct err err = {0};
    AUTO(mem) char *text = mem_printf("{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s}}", name, spec);
    cJSON *job = json_parse(slice_of(text), &err);

    CHECK_OK(job, err);
    return job;
}

static void judge(const char *name, const char *text, struct strv *ret)
{
    AUTO(json) cJSON *job = job_of(name, text);
    AUTO(jobspec) struct job_spec spec;

    validate_job(job, &spec, ret);
}

/* Expects exactly these lines, one behind the other. */
static void check_lines(const struct strv *problems, const char *const *want)
{
    size_t count = 0;

    for (; want[count]; count++) {
        if (count >= problems->count)
            CHECK_FAIL("no problem where there should be: %s", want[count]);
        CHECK_STR_EQ(problems->items[count], want[count]);
    }
    if (count < problems->count)
        CHECK_FAIL("one problem too many: %s", problems->items[count]);
}

/* ---- one mistake: field, kind, value, reason ---- */

#define IPUS_WANTED(got)                                                                                     \
    "spec.ipusPerJobInstance: Invalid value: " got                                                           \
    ": must be a power of two up to 64, or a multiple of 64 up to 65536"
#define COUNT_WANTED(field, got, min, max)                                                                   \
    "spec." field ": Invalid value: " got ": must be a whole number from " min " to " max
#define NO_SHARES                                                                                            \
    "spec.ipusPerJobInstance: Invalid value: 4: must be divisible by workers x model replicas per worker "
#define COMMAND_WANTED ": must be a command as a list of strings, such as [\"mpirun\", \"program\"]"
#define NAME_WANTED                                                                                          \
    ": must consist of at most 63 lowercase letters, digits and '-', and start and end with a letter or "    \
    "digit"
#define CONTAINERS "spec.workers.template.spec.containers"
#define STEP_WANTED ": must be a number such as 1 or a percentage such as 25%"
#define CODES_WANTED ": must be a list of exit codes (0 to 255) and ranges, such as 1-5,137"
#define WITH_ENV(variables)                                                                                  \
    "\"workers\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\",\"env\":[" variables "]},"      \
    "{\"name\":\"beside\",\"env\":[{\"name\":\"IPUOF_VIPU_API_PARTITION_ID\",\"value\":\"p\"}]}]}}}"
#define ENV(name, value) "{\"name\":\"" name "\",\"value\":\"" value "\"}"
#define TWO_WORKERS FOUR "\"workersPerJobInstance\":2,\"modelReplicasPerWorker\":2,"
#define LEAVE_OUT_PARTITION ": is set by the operator; remove it"
#define COUNTS_MAKE(number)                                                                                  \
    ": contradicts the job's IPUs, workers and replicas, which give " number "; remove it or change them"
#define MANAGER_WANTED                                                                                       \
    ": must be a domain-prefixed path, such as example.com/controller, of at most 63 characters"

static const struct {
    const char *spec, *problem;
} mistakes[] = {
    {ONE "\"ipusPerJobInstance\":\"0\"," WORKERS, IPUS_WANTED("\"0\"")},
    {ONE "\"ipusPerJobInstance\":0," WORKERS, IPUS_WANTED("0")},
    {ONE "\"ipusPerJobInstance\":\"-4\"," WORKERS, IPUS_WANTED("\"-4\"")},
    {ONE "\"ipusPerJobInstance\":-4," WORKERS, IPUS_WANTED("-4")},
    {ONE "\"ipusPerJobInstance\":\"four\"," WORKERS, IPUS_WANTED("\"four\"")},
    {ONE "\"ipusPerJobInstance\":\"4 \"," WORKERS, IPUS_WANTED("\"4 \"")},
    {ONE "\"ipusPerJobInstance\":\"+4\"," WORKERS, IPUS_WANTED("\"+4\"")},
    {ONE "\"ipusPerJobInstance\":\"04\"," WORKERS, IPUS_WANTED("\"04\"")},
    {ONE "\"ipusPerJobInstance\":\"\"," WORKERS, IPUS_WANTED("\"\"")},
    {ONE "\"ipusPerJobInstance\":2.5," WORKERS, IPUS_WANTED("2.5")},
    {ONE "\"ipusPerJobInstance\":\"3\"," WORKERS, IPUS_WANTED("\"3\"")},
    {ONE "\"ipusPerJobInstance\":\"65\"," WORKERS, IPUS_WANTED("\"65\"")},
    {ONE "\"ipusPerJobInstance\":\"96\"," WORKERS, IPUS_WANTED("\"96\"")},
    {ONE "\"ipusPerJobInstance\":\"65600\"," WORKERS, IPUS_WANTED("\"65600\"")},
    {ONE "\"ipusPerJobInstance\":\"99999999999\"," WORKERS, IPUS_WANTED("\"99999999999\"")},
    {ONE "\"ipusPerJobInstance\":1e99," WORKERS, IPUS_WANTED("1e+99")},
    {ONE "\"ipusPerJobInstance\":true," WORKERS, IPUS_WANTED("true")},
    {ONE "\"ipusPerJobInstance\":[4]," WORKERS, IPUS_WANTED("[4]")},
    {ONE "\"ipusPerJobInstance\":null," WORKERS, "spec.ipusPerJobInstance: Required value"},
    {ONE WORKERS, "spec.ipusPerJobInstance: Required value"},
    {"\"ipusPerJobInstance\":1," WORKERS, "spec.jobInstances: Required value"},
    {"\"jobInstances\":null,\"ipusPerJobInstance\":1," WORKERS, "spec.jobInstances: Required value"},
    {"\"jobInstances\":-1,\"ipusPerJobInstance\":1," WORKERS,
     COUNT_WANTED("jobInstances", "-1", "0", "10000")},
    {"\"jobInstances\":1.5,\"ipusPerJobInstance\":1," WORKERS,
     COUNT_WANTED("jobInstances", "1.5", "0", "10000")},
    {"\"jobInstances\":9,\"ipusPerJobInstance\":4096,\"workersPerJobInstance\":4096," WORKERS,
     "spec.jobInstances: Invalid value: 9: must be at most 8 with 4096 worker pods per instance: a job has "
     "at most 32768 worker pods"},
    {FOUR "\"workersPerJobInstance\":\"0\"," WORKERS,
     COUNT_WANTED("workersPerJobInstance", "\"0\"", "1", "4096")},
    {FOUR "\"workersPerJobInstance\":\"two\"," WORKERS,
     COUNT_WANTED("workersPerJobInstance", "\"two\"", "1", "4096")},
    {FOUR "\"modelReplicasPerWorker\":0," WORKERS, COUNT_WANTED("modelReplicasPerWorker", "0", "1", "65536")},
    {FOUR "\"workersPerJobInstance\":8," WORKERS, NO_SHARES "(8 x 1)"},
    {FOUR "\"modelReplicasPerWorker\":\"3\"," WORKERS, NO_SHARES "(1 x 3)"},
    {FOUR "\"workersPerJobInstance\":2,\"modelReplicasPerWorker\":4," WORKERS, NO_SHARES "(2 x 4)"},
    {ONE "\"ipusPerJobInstance\":192,\"workersPerJobInstance\":3," WORKERS,
     "spec.workersPerJobInstance: Invalid value: 3: must be a power of two: each worker uses one GCD"},
    {ONE "\"ipusPerJobInstance\":8,\"workersPerJobInstance\":2,\"workers\":{\"replicas\":4,\"template\":{"
         "\"spec\":{\"containers\":[{\"name\":\"main\"}]}}}",
     "spec.workers.replicas: Invalid value: 4: must equal spec.workersPerJobInstance (2) when both are set"},
    {FOUR WITH_ENV(ENV("A", "1") "," ENV("IPUOF_VIPU_API_PARTITION_ID", "mine")),
     CONTAINERS "[0].env[1].value: Invalid value: \"mine\"" LEAVE_OUT_PARTITION},
    {FOUR
     "\"launcher\":{\"command\":[\"a\"],\"env\":[" ENV("IPUOF_VIPU_API_PARTITION_ID", "mine") "]}," WORKERS,
     "spec.launcher.env[0].value: Invalid value: \"mine\"" LEAVE_OUT_PARTITION},
    {TWO_WORKERS WITH_ENV(ENV("IPUOF_VIPU_API_GCD_ID", "0")), CONTAINERS
     "[0].env[0].value: Invalid value: \"0\": differs per worker and is set by the operator; remove it"},
    {TWO_WORKERS WITH_ENV(ENV("POPDIST_NUM_TOTAL_REPLICAS", "8")),
     CONTAINERS "[0].env[0].value: Invalid value: \"8\"" COUNTS_MAKE("4")},
    {TWO_WORKERS WITH_ENV(ENV("POPDIST_NUM_IPUS_PER_REPLICA", "2")),
     CONTAINERS "[0].env[0].value: Invalid value: \"2\"" COUNTS_MAKE("1")},
    {TWO_WORKERS WITH_ENV(ENV("POPDIST_NUM_LOCAL_REPLICAS", "two")),
     CONTAINERS "[0].env[0].value: Invalid value: \"two\"" COUNTS_MAKE("2")},
    {TWO_WORKERS WITH_ENV(ENV("WORLD_SIZE", "4")),
     CONTAINERS "[0].env[0].value: Invalid value: \"4\"" COUNTS_MAKE("2")},
    {FOUR "\"restartPolicy\":{\"type\":\"Sometimes\"}," WORKERS,
     "spec.restartPolicy.type: Unsupported value: \"Sometimes\": supported values: \"Always\", "
     "\"OnFailure\", \"Never\", \"ExitCode\""},
    {FOUR "\"restartPolicy\":{\"type\":\"ExitCode\"}," WORKERS,
     "spec.restartPolicy.exitCodes: Required value"},
    {FOUR "\"restartPolicy\":{\"type\":\"Never\",\"exitCodes\":\"5-1\"}," WORKERS,
     "spec.restartPolicy.exitCodes: Invalid value: \"5-1\"" CODES_WANTED},
    {FOUR "\"restartPolicy\":{\"type\":\"Always\",\"exitCodes\":7}," WORKERS,
     "spec.restartPolicy.exitCodes: Invalid value: 7: must be a string; put it in quotes"},
    {FOUR "\"restartPolicy\":{\"type\":\"Always\",\"backOffLimit\":-1}," WORKERS,
     COUNT_WANTED("restartPolicy.backOffLimit", "-1", "0", "2147483647")},
    {FOUR "\"restartPolicy\":\"Never\"," WORKERS,
     "spec.restartPolicy: Invalid value: \"Never\": must be an object, such as {type: OnFailure}"},
    {FOUR "\"cleanPodPolicy\":\"Some\"," WORKERS,
     "spec.cleanPodPolicy: Unsupported value: \"Some\": supported values: \"None\", \"Workers\", \"All\""},
    {FOUR "\"suspend\":\"yes\"," WORKERS, "spec.suspend: Invalid value: \"yes\": must be true or false"},
    {FOUR "\"managedBy\":\"kueue\"," WORKERS, "spec.managedBy: Invalid value: \"kueue\"" MANAGER_WANTED},
    {FOUR "\"managedBy\":\"/a\"," WORKERS, "spec.managedBy: Invalid value: \"/a\"" MANAGER_WANTED},
    {FOUR "\"managedBy\":\"a/\"," WORKERS, "spec.managedBy: Invalid value: \"a/\"" MANAGER_WANTED},
    {FOUR "\"managedBy\":\"a/b/c\"," WORKERS, "spec.managedBy: Invalid value: \"a/b/c\"" MANAGER_WANTED},
    {FOUR "\"managedBy\":\"A/b\"," WORKERS, "spec.managedBy: Invalid value: \"A/b\"" MANAGER_WANTED},
    {FOUR "\"managedBy\":\"-a/b\"," WORKERS, "spec.managedBy: Invalid value: \"-a/b\"" MANAGER_WANTED},
    {FOUR "\"interactive\":{}," WORKERS, "spec.interactive.ttl: Required value"},
    {FOUR "\"interactive\":{\"ttl\":\"soon\"}," WORKERS,
     "spec.interactive.ttl: Invalid value: \"soon\": must be a whole number of seconds from 1 to 2147483647"},
    {FOUR "\"partition\":7," WORKERS, "spec.partition: Invalid value: 7: must be an object"},
    {FOUR "\"launcher\":{\"command\":[\"a\"],\"template\":{\"spec\":7}}," WORKERS,
     "spec.launcher.template.spec: Invalid value: 7: must be an object"},
    {FOUR "\"partition\":{\"gcds\":3}," WORKERS,
     "spec.partition.gcds: Invalid value: 3: must divide spec.ipusPerJobInstance"},
    {FOUR "\"partition\":{\"gcds\":0}," WORKERS, COUNT_WANTED("partition.gcds", "0", "1", "4096")},
    {ONE "\"ipusPerJobInstance\":8,\"workersPerJobInstance\":4,\"partition\":{\"gcds\":2}," WORKERS,
     "spec.partition.gcds: Invalid value: 2: must be at least the number of workers"},
    {FOUR "\"partition\":{\"reconfigurable\":true,\"gcds\":2}," WORKERS,
     "spec.partition.reconfigurable: Invalid value: true: reconfigurable partitions require 1 GCD and at "
     "most 64 IPUs"},
    {ONE "\"ipusPerJobInstance\":128,\"partition\":{\"reconfigurable\":true}," WORKERS,
     "spec.partition.reconfigurable: Invalid value: true: reconfigurable partitions require 1 GCD and at "
     "most 64 IPUs"},
    {FOUR "\"partition\":{\"reconfigurable\":true,\"syncType\":\"pod-native-default\"}," WORKERS,
     "spec.partition.syncType: Invalid value: \"pod-native-default\": reconfigurable partitions require "
     "c2-compatible; remove it"},
    {FOUR "\"partition\":{\"routing\":\"straight\"}," WORKERS,
     "spec.partition.routing: Unsupported value: \"straight\": supported values: \"dnc\", \"swnc\", "
     "\"btnc\", "
     "\"ringswnc\""},
    {FOUR "\"partition\":{\"allocation\":\"\"}," WORKERS,
     "spec.partition.allocation: Invalid value: \"\": must have 1 to 253 characters"},
    {FOUR "\"workers\":{\"strategy\":{\"type\":\"Slowly\"},\"template\":{\"spec\":{\"containers\":[{\"name\":"
          "\"a\"}]}}}",
     "spec.workers.strategy.type: Unsupported value: \"Slowly\": supported values: \"RollingUpdate\", "
     "\"Recreate\""},
    {FOUR "\"workers\":{\"strategy\":{\"rollingUpdate\":{\"maxSurge\":\"x%\"}},\"template\":{\"spec\":{"
          "\"containers\":[{\"name\":\"a\"}]}}}",
     "spec.workers.strategy.rollingUpdate.maxSurge: Invalid value: \"x%\"" STEP_WANTED},
    {FOUR "\"workers\":{\"strategy\":{\"rollingUpdate\":{\"maxUnavailable\":\"0%\"}},\"template\":{\"spec\":{"
          "\"containers\":[{\"name\":\"a\"}]}}}",
     "spec.workers.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": must not be 0 when "
     "maxSurge is 0"},
    /* templates */
    {FOUR "\"jobInstances\":1", "spec.workers: Required value"},
    {FOUR "\"workers\":{}", "spec.workers.template: Required value"},
    {FOUR "\"workers\":{\"template\":{}}", "spec.workers.template.spec: Required value"},
    {TEMPLATE(""), CONTAINERS ": Required value"},
    {TEMPLATE("\"containers\":[]"), CONTAINERS ": Required value"},
    {TEMPLATE("\"containers\":{\"a\":1}"), CONTAINERS ": Invalid value: {\"a\":1}: must be a list"},
    {TEMPLATE("\"containers\":[{\"image\":\"a\"}]"), CONTAINERS "[0].name: Required value"},
    {TEMPLATE("\"containers\":[7]"), CONTAINERS "[0].name: Required value"},
    {TEMPLATE("\"containers\":[{\"name\":\"a\"},{\"name\":\"Main_1\"}]"),
     CONTAINERS "[1].name: Invalid value: \"Main_1\"" NAME_WANTED},
    {TEMPLATE("\"containers\":[{\"name\":\"a-\"}]"),
     CONTAINERS "[0].name: Invalid value: \"a-\"" NAME_WANTED},
    {TEMPLATE("\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"a\"}]"),
     CONTAINERS "[2].name: Duplicate value: \"a\""},
    {TEMPLATE("\"containers\":[{\"name\":\"a\"}],\"initContainers\":[{}]"),
     "spec.workers.template.spec.initContainers[0].name: Required value"},
    {TEMPLATE("\"containers\":[{\"name\":\"a\"}],\"volumes\":[{\"name\":\"v\"},{\"name\":\"v\"}]"),
     "spec.workers.template.spec.volumes[1].name: Duplicate value: \"v\""},
    /* launcher */
    {LAUNCHER("\"slotsPerWorker\":0"),
     "spec.launcher.slotsPerWorker: Invalid value: 0: must be a whole number from 1 to 65536"},
    {LAUNCHER("\"slotsPerWorker\":\"2\""), "spec.launcher.slotsPerWorker: Invalid value: \"2\": must be a "
                                           "whole number from 1 to 65536, without quotes"},
    {LAUNCHER("\"env\":[" ENV("IPU_JOB_SLOTS", "two") "]"),
     "spec.launcher.env[0].value: Invalid value: \"two\": must be a whole number from 1 to 65536; use "
     "spec.launcher.slotsPerWorker instead"},
    {LAUNCHER("\"slotsPerWorker\":4,\"env\":[" ENV("IPU_JOB_SLOTS", "2") "]"),
     "spec.launcher.env[0].value: Invalid value: \"2\": contradicts spec.launcher.slotsPerWorker, which is "
     "4; remove "
     "one of them"},
    {FOUR "\"launcher\":{}," WORKERS, "spec.launcher.command: Required value"},
    {FOUR "\"launcher\":\"mpirun\"," WORKERS, "spec.launcher: Invalid value: \"mpirun\": must be an object"},
    {FOUR "\"launcher\":{\"command\":[]}," WORKERS, "spec.launcher.command: Required value"},
    {FOUR "\"launcher\":{\"command\":\"mpirun\"}," WORKERS,
     "spec.launcher.command: Invalid value: \"mpirun\"" COMMAND_WANTED},
    {FOUR "\"launcher\":{\"command\":[\"mpirun\",4]}," WORKERS,
     "spec.launcher.command: Invalid value: [\"mpirun\",4]" COMMAND_WANTED},
    {LAUNCHER("\"env\":[{\"name\":\"A\"},{}]"), "spec.launcher.env[1].name: Required value"},
    {LAUNCHER("\"env\":7"), "spec.launcher.env: Invalid value: 7: must be a list"},
    {LAUNCHER("\"template\":{\"spec\":{\"containers\":[{\"name\":\"a\",\"command\":[\"b\"]}]}}"),
     "spec.launcher.template.spec.containers[0].command: Forbidden: must not be set; use "
     "spec.launcher.command"},
    {LAUNCHER("\"template\":{\"spec\":{\"containers\":[{}]}}"),
     "spec.launcher.template.spec.containers[0].name: Required value"},
    {FOUR "\"launcher\":{\"command\":[\"a\"]},\"workers\":{\"template\":{\"spec\":{\"containers\":[{\"name\":"
          "\"a\",\"args\":[\"b\"]}]}}}",
     CONTAINERS "[0].args: Forbidden: requires command: workers of a job with a launcher do not run the "
                "image's entry point"},
    {FOUR "\"workers\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"ipu-launcher\"}]}}}",
     CONTAINERS "[0].name: Forbidden: is reserved for the operator; choose another name"},
    {FOUR "\"workers\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"ipu-launch-keys\"}],\"volumes\":["
          "{\"name\":"
          "\"ipu-launch-keys\"}]}}}",
     "spec.workers.template.spec.volumes[0].name: Forbidden: is reserved for the operator; choose another "
     "name"},
    {ONE
     "\"ipusPerJobInstance\":2048,\"workersPerJobInstance\":2048,\"launcher\":{\"command\":[\"a\"]}," WORKERS,
     "spec.workersPerJobInstance: Invalid value: 2048: must be at most 1024 in a job with a launcher"},
};

TEST(a_mistake_is_named_with_its_field_and_value)
{
    CHECK_ROWS (row, mistakes) {
        AUTO(strv) struct strv problems = {0};
        AUTO(str) struct str text = {0};

        judge("train", row->spec, &problems);
        for (size_t i = 0; i < problems.count; i++)
            str_addf(&text, "%s%s", i ? "\n" : "", problems.items[i]);
        CHECK_STR_EQ(str_text(&text), row->problem);
    }
}

TEST(variables_that_agree_with_the_job_or_cannot_be_judged_are_the_users)
{
    static const char *const agreeing[] = {
        FOUR WITH_ENV(ENV("IPUOF_VIPU_API_PARTITION_ID", "")),
        FOUR WITH_ENV(ENV("IPUOF_VIPU_API_PARTITION_ID", "$(MINE)")),
        FOUR WITH_ENV("{\"name\":\"IPUOF_VIPU_API_PARTITION_ID\",\"valueFrom\":{\"secretKeyRef\":{}}}"),
        FOUR WITH_ENV(ENV("IPUOF_VIPU_API_GCD_ID", "0")),
        FOUR WITH_ENV(ENV("POPDIST_NUM_TOTAL_REPLICAS", "8")), /* a plain job has no share of its own */
        FOUR WITH_ENV(ENV("IPUOF_VIPU_API_TIMEOUT", "5")),
        TWO_WORKERS WITH_ENV(ENV("POPDIST_NUM_TOTAL_REPLICAS", "4") "," ENV("WORLD_SIZE", "2")),
        TWO_WORKERS
        "\"launcher\":{\"command\":[\"a\"]}," WITH_ENV(ENV("WORLD_SIZE", "7")), /* mpirun's matter */
        LAUNCHER("\"slotsPerWorker\":4,\"env\":[" ENV("IPU_JOB_SLOTS", "4") "]"),
    };

    for (size_t i = 0; i < COUNT_OF(agreeing); i++) {
        AUTO(strv) struct strv problems = {0};

        judge("train", agreeing[i], &problems);
        CHECK_STR_EQ(problems.count ? problems.items[0] : "", "");
    }
}

TEST(a_wrong_value_is_one_line_and_cut_between_characters)
{
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str text = {0};

    str_adds(&text, ONE "\"ipusPerJobInstance\":\"xy\\n");
    for (int i = 0; i < 40; i++)
        str_adds(&text, "\xC3\xA4");
    str_adds(&text, "\"," WORKERS);
    judge("train", str_text(&text), &problems);
    CHECK_INT_EQ(problems.count, 1);
    CHECK(!strchr(problems.items[0], '\n'));
    CHECK_HAS(problems.items[0], "Invalid value: \"xy\\n\xC3\xA4");
    CHECK_HAS(problems.items[0], "\xC3\xA4: must be");
}

TEST(all_mistakes_are_named_at_once)
{
    static const char *const want[] = {
        "spec.jobInstances: Required value",
        IPUS_WANTED("\"3\""),
        COUNT_WANTED("workersPerJobInstance", "\"x\"", "1", "4096"),
        COUNT_WANTED("workers.replicas", "0", "1", "4096"),
        "spec.restartPolicy.type: Unsupported value: \"No\": supported values: \"Always\", \"OnFailure\", "
        "\"Never\", \"ExitCode\"",
        "spec.restartPolicy.exitCodes: Invalid value: \"a\"" CODES_WANTED,
        "spec.launcher.env[0].value: Invalid value: \"two\": must be a whole number from 1 to 65536; use "
        "spec.launcher.slotsPerWorker instead",
        "spec.workers.template.spec: Required value",
        "spec.launcher.command: Required value",
        NULL};
    AUTO(strv) struct strv problems = {0};

    judge("train",
          "\"ipusPerJobInstance\":\"3\",\"workersPerJobInstance\":\"x\",\"restartPolicy\":{\"type\":\"No\","
          "\"exitCodes\":\"a\"},\"launcher\":{\"env\":[" ENV(
              "IPU_JOB_SLOTS", "two") "]},\"workers\":{\"replicas\":0,\"template\":{}}",
          &problems);
    check_lines(&problems, want);
}

TEST(a_flood_of_mistakes_has_an_end)
{
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str text = {0};

    for (int i = 0; i < 5000; i++)
        str_adds(&text, i ? ",{}" : "{}");
    AUTO(mem)
    char *spec =
        mem_printf(FOUR "\"workers\":{\"template\":{\"spec\":{\"containers\":[%s]}}}", str_text(&text));
    judge("train", spec, &problems);
    CHECK_INT_EQ(problems.count, FIELD_PROBLEMS_MAX);
}

TEST(a_job_without_a_spec_lacks_all_that_is_required)
{
    struct err err = {0};
    AUTO(json)
    cJSON *job = json_parse(SLICE_LIT("{\"metadata\":{\"generateName\":\"a-\"},\"spec\":7}"), &err);
    AUTO(jobspec) struct job_spec spec = {0};
    AUTO(strv) struct strv problems = {0};

    CHECK_OK(job, err);
    validate_job(job, &spec, &problems);
    check_lines(&problems, (const char *const[]){"spec.jobInstances: Required value",
                                                 "spec.ipusPerJobInstance: Required value",
                                                 "spec.workers: Required value", NULL});
}

/* ---- sizes ---- */

#define LARGE_TEMPLATE(text) "{\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"" text "\"}]}}"
#define LARGE_LAUNCHER(text) "{\"command\":[\"" text "\"]}"

static char *filler_new(size_t bytes)
{
    char *text = mem_alloc(bytes + 1);

    memset(text, 'x', bytes);
    text[bytes] = '\0';
    return text;
}

/* With so many bytes of JSON. */
static void judge_sizes(size_t template_bytes, size_t launcher_bytes, struct strv *ret)
{
    AUTO(mem) char *image = filler_new(template_bytes - strlen(LARGE_TEMPLATE("")));
    AUTO(mem) char *word = filler_new(launcher_bytes - strlen(LARGE_LAUNCHER("")));
    AUTO(mem)
    char *spec = mem_printf(
        FOUR "\"workers\":{\"template\":" LARGE_TEMPLATE("%s") "},\"launcher\":" LARGE_LAUNCHER("%s"), image,
        word);

    judge("train", spec, ret);
}

/* They are kept in memory for as long as the job exists. */
TEST(what_is_kept_of_a_job_has_a_limit)
{
    AUTO(strv) struct strv problems = {0};

    judge_sizes(JOB_TEMPLATE_MAX, JOB_TEMPLATE_MAX, &problems);
    check_lines(&problems, (const char *const[]){NULL});
    judge_sizes(JOB_TEMPLATE_MAX + 1, (size_t)900 * 1024, &problems);
    check_lines(
        &problems,
        (const char *const[]){"spec.workers.template: Forbidden: has 65 KiB as JSON, limit 64 KiB; put large "
                              "values into a ConfigMap",
                              "spec.launcher: Forbidden: has 900 KiB as JSON, limit 64 KiB; put large "
                              "values into a ConfigMap",
                              NULL});
}

/* ---- names ---- */

TEST(names_work_up_to_63_characters)
{
    static const char *const good[] = {"n23456789012345678901234567890123456789012345678901234567890123",
                                       "has.dots", "1starts-with-a-digit"};
    AUTO(strv) struct strv problems = {0};

    CHECK_ROWS (name, good) {
        judge(*name, FOUR WORKERS, &problems);
        judge(*name, FOUR "\"workersPerJobInstance\":2," WORKERS, &problems);
        judge(*name, LAUNCHER("\"env\":[]"), &problems);
        check_lines(&problems, (const char *const[]){NULL});
    }
    judge("n234567890123456789012345678901234567890123456789012345678901234", FOUR WORKERS, &problems);
    CHECK_INT_EQ(problems.count, 1);
    CHECK_HAS(problems.items[0], "metadata.name: Invalid value: \"n23456");
    CHECK_HAS(problems.items[0], "must be no more than 63 characters (used as a pod label value)");
}

/* ---- changes ---- */

#define SHAPE ONE "\"ipusPerJobInstance\":8,\"workersPerJobInstance\":\"2\",\"modelReplicasPerWorker\":2"
#define FIXED ": field is immutable; create a new job instead"
#define KEPT ": Forbidden: field is immutable and cannot be removed; create a new job instead"

static const struct {
    const char *old, *job, *problem;
} changes[] = {
    {SHAPE, ONE "\"ipusPerJobInstance\":\"8\",\"workersPerJobInstance\":2,\"modelReplicasPerWorker\":\"2\"",
     ""},
    {SHAPE,
     "\"jobInstances\":5,\"ipusPerJobInstance\":8,\"workersPerJobInstance\":2,\"modelReplicasPerWorker\":"
     "2,\"suspend\":true,\"cleanPodPolicy\":\"All\"",
     ""},
    {FOUR "\"workersPerJobInstance\":1", FOUR "\"suspend\":false", ""},
    {FOUR "\"workersPerJobInstance\":2", FOUR "\"workers\":{\"replicas\":2}", ""},
    {SHAPE, ONE "\"ipusPerJobInstance\":\"16\",\"workersPerJobInstance\":2,\"modelReplicasPerWorker\":2",
     "spec.ipusPerJobInstance: Invalid value: \"16\"" FIXED},
    {SHAPE, ONE "\"workersPerJobInstance\":2,\"modelReplicasPerWorker\":2", "spec.ipusPerJobInstance" KEPT},
    {SHAPE, ONE "\"ipusPerJobInstance\":8,\"workersPerJobInstance\":4,\"modelReplicasPerWorker\":2",
     "spec.workersPerJobInstance: Invalid value: 4" FIXED},
    {SHAPE, ONE "\"ipusPerJobInstance\":8,\"modelReplicasPerWorker\":2", "spec.workers.replicas" KEPT},
    {FOUR "\"suspend\":false", FOUR "\"workers\":{\"replicas\":2}",
     "spec.workers.replicas: Invalid value: 2" FIXED},
    {SHAPE, ONE "\"ipusPerJobInstance\":8,\"workersPerJobInstance\":2", "spec.modelReplicasPerWorker" KEPT},
    {FOUR "\"partition\":{\"gcds\":1}", FOUR "\"partition\":{\"gcds\":2}",
     "spec.partition: Invalid value: {\"gcds\":2}" FIXED},
    {FOUR "\"partition\":{\"gcds\":1}", FOUR "\"suspend\":false", "spec.partition" KEPT},
    {FOUR "\"launcher\":{\"command\":[\"a\"]}", FOUR "\"launcher\":{\"command\":[\"b\"]}", ""},
    {FOUR "\"suspend\":false", FOUR "\"launcher\":{\"command\":[\"b\"]}",
     "spec.launcher: Invalid value: {\"command\":[\"b\"]}" FIXED},
    {FOUR "\"managedBy\":\"a/b\"", FOUR "\"managedBy\":\"a/c\"",
     "spec.managedBy: Invalid value: \"a/c\"" FIXED},
    {FOUR "\"managedBy\":\"a/b\"", FOUR "\"suspend\":false", "spec.managedBy" KEPT},
    /* what was never valid can be mended */
    {ONE "\"ipusPerJobInstance\":\"3\",\"workersPerJobInstance\":\"x\",\"modelReplicasPerWorker\":0", SHAPE,
     ""},
    {SHAPE, FOUR "\"managedBy\":\"a/b\"",
     "spec.ipusPerJobInstance: Invalid value: 4" FIXED "\n"
     "spec.workers.replicas" KEPT "\n"
     "spec.modelReplicasPerWorker" KEPT "\n"
     "spec.managedBy: Invalid value: \"a/b\"" FIXED},
};

TEST(what_shapes_a_job_never_changes)
{
    CHECK_ROWS (row, changes) {
        AUTO(json) cJSON *old = job_of("train", row->old);
        AUTO(json) cJSON *job = job_of("train", row->job);
        AUTO(strv) struct strv problems = {0};
        AUTO(str) struct str text = {0};

        validate_change(old, job, &problems);
        for (size_t i = 0; i < problems.count; i++)
            str_addf(&text, "%s%s", i ? "\n" : "", problems.items[i]);
        CHECK_STR_EQ(str_text(&text), row->problem);
    }
}

#define LIMITED(limits, pod, launcher)                                                                       \
    FOUR limits ",\"workers\":{\"template\":{\"spec\":{" pod                                                 \
                "\"containers\":[{\"name\":\"main\"}]}}},\"launcher\":{\"command\":[\"a\"]" launcher "}"
#define DEADLINE(s) "\"activeDeadlineSeconds\":" s
#define GRACE(s) "\"terminationGracePeriodSeconds\":" s ","
#define LED_BY(s) ",\"template\":{\"spec\":{\"terminationGracePeriodSeconds\":" s "}}"
#define RUNS "{\"startTime\":\"2026-01-01T00:00:00Z\"}"
#define LONGER                                                                                               \
    ": must not become longer while the job has IPUs: other jobs may be promised them; set spec.suspend to " \
    "true first"

static const struct {
    const char *old, *job, *status, *problem;
} limits[] = {
    {LIMITED(DEADLINE("60"), "", ""), LIMITED(DEADLINE("60"), "", ""), RUNS, ""},
    {LIMITED(DEADLINE("60"), "", ""), LIMITED(DEADLINE("59"), "", ""), RUNS, ""},
    {LIMITED(DEADLINE("60"), "", ""), LIMITED(DEADLINE("61"), "", ""), RUNS,
     "spec.activeDeadlineSeconds: Invalid value: 61" LONGER},
    {LIMITED(DEADLINE("60"), "", ""), LIMITED("\"suspend\":false", "", ""), RUNS,
     "spec.activeDeadlineSeconds: Forbidden: must not be removed while the job has IPUs: other jobs may be "
     "promised them; set spec.suspend to true first"},
    {LIMITED(DEADLINE("60"), "", ""), LIMITED(DEADLINE("600"), "", ""), "{}", ""},
    {LIMITED(DEADLINE("60"), "", ""), LIMITED(DEADLINE("600") ",\"suspend\":true", "", ""), RUNS, ""},
    {LIMITED(DEADLINE("60"), "", ""), LIMITED(DEADLINE("600"), "", ""),
     "{\"startTime\":\"2026-01-01T00:00:00Z\",\"completionTime\":\"2026-01-01T00:01:00Z\"}", ""},
    {LIMITED("\"suspend\":false", "", ""), LIMITED(DEADLINE("60"), GRACE("600"), ""), RUNS, ""},
    {LIMITED("\"interactive\":{\"ttl\":60}", "", ""), LIMITED("\"interactive\":{\"ttl\":90}", "", ""), RUNS,
     "spec.interactive.ttl: Invalid value: 90" LONGER},
    {LIMITED(DEADLINE("600") ",\"interactive\":{\"ttl\":60}", "", ""),
     LIMITED(DEADLINE("900") ",\"interactive\":{\"ttl\":60}", "", ""), RUNS, ""},
    {LIMITED(DEADLINE("600") ",\"interactive\":{\"ttl\":60}", "", ""), LIMITED(DEADLINE("600"), "", ""), RUNS,
     "spec.interactive.ttl: Forbidden: must not be removed"},
    {LIMITED(DEADLINE("60"), "", ""), LIMITED(DEADLINE("60"), GRACE("31"), ""), RUNS,
     "spec.workers.template.spec.terminationGracePeriodSeconds: Invalid value: 31" LONGER},
    {LIMITED(DEADLINE("60"), GRACE("5"), ""), LIMITED(DEADLINE("60"), "", ""), RUNS,
     "spec.workers.template.spec.terminationGracePeriodSeconds: Forbidden: must not be removed"},
    {LIMITED(DEADLINE("60"), "", ""), LIMITED(DEADLINE("60"), "", LED_BY("600")), RUNS,
     "spec.launcher.template.spec.terminationGracePeriodSeconds: Invalid value: 600" LONGER},
    {LIMITED(DEADLINE("60"), "", ""), LIMITED(DEADLINE("60"), GRACE("9"), LED_BY("30")), RUNS, ""},
};

TEST(a_job_that_has_ipus_gets_no_more_time)
{
    CHECK_ROWS (row, limits) {
        struct err err = {0};
        AUTO(json) cJSON *old = job_of("train", row->old);
        AUTO(json) cJSON *job = job_of("train", row->job);
        AUTO(strv) struct strv problems = {0};

        json_put_take(old, "status", json_parse(slice_of(row->status), &err));
        validate_limits(old, job, &problems);
        CHECK_INT_EQ(problems.count, *row->problem ? 1 : 0);
        if (*row->problem)
            CHECK_HAS(problems.items[0], row->problem);
    }
}
