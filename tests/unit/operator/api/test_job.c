#include "operator/api/job.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/api/names.h"

#define WORKERS "\"workers\":{\"replicas\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}}"

static struct job *parse_named(const char *name, const char *spec)
{
    struct err err = {0};
    AUTO(mem)
    char *text = mem_printf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"team\",\"uid\":\"u1\","
                            "\"resourceVersion\":\"17\",\"generation\":4,"
                            "\"creationTimestamp\":\"2026-01-01T10:00:00Z\"},\"spec\":{%s}}",
                            name, spec);
    AUTO(json) cJSON *object = json_parse(slice_of(text), &err);

    CHECK_OK(object, err);
    return job_parse(object);
}

static struct job *parse(const char *spec)
{
    return parse_named("train", spec);
}

static void check_problems(const struct job *job, const char *const *want)
{
    size_t count = 0;

    for (; want[count]; count++) {
        if (count >= job->problems.count)
            CHECK_FAIL("no problem where there should be: %s", want[count]);
        CHECK_STR_EQ(job->problems.items[count], want[count]);
    }
    if (count < job->problems.count)
        CHECK_FAIL("one problem too many: %s", job->problems.items[count]);
}

/* ---- what is accepted, and the shape it gives (design, section 8) ---- */

static const struct {
    const char *spec;
    uint32_t instances, ipus, workers, replicas;
    bool popdist, reconfigurable;
    uint32_t gcds, vipu_replicas, pods;
} shapes[] = {
    {"\"jobInstances\":1,\"ipusPerJobInstance\":\"4\"", 1, 4, 1, 0, false, true, 1, 1, 1},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":4", 1, 4, 1, 0, false, true, 1, 1, 1},
    {"\"jobInstances\":0,\"ipusPerJobInstance\":1", 0, 1, 1, 0, false, true, 1, 1, 0},
    {"\"jobInstances\":3,\"ipusPerJobInstance\":\"64\"", 3, 64, 1, 0, false, true, 1, 1, 3},
    /* the seed's poprun job: 16 replicas of 4 IPUs */
    {"\"jobInstances\":1,\"ipusPerJobInstance\":\"64\",\"modelReplicasPerWorker\":\"16\"", 1, 64, 1, 16, true,
     false, 1, 16, 1},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":\"64\",\"modelReplicasPerWorker\":16", 1, 64, 1, 16, true,
     false, 1, 16, 1},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":4,\"modelReplicasPerWorker\":1", 1, 4, 1, 1, true, false, 1,
     1, 1},
    {"\"jobInstances\":2,\"ipusPerJobInstance\":\"8\",\"workersPerJobInstance\":\"2\"", 2, 8, 2, 0, true,
     false, 2, 2, 4},
    {"\"jobInstances\":2,\"ipusPerJobInstance\":\"8\",\"workersPerJobInstance\":2,\"modelReplicasPerWorker\":"
     "\"2\"",
     2, 8, 2, 2, true, false, 2, 4, 4},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":\"8\",\"workersPerJobInstance\":\"1\"", 1, 8, 1, 0, false,
     true, 1, 1, 1},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":2,\"workersPerJobInstance\":2", 1, 2, 2, 0, true, false, 2, 2,
     2},
    /* several IPU-Link domains: at least one GCD each, never reconfigurable */
    {"\"jobInstances\":1,\"ipusPerJobInstance\":\"128\"", 1, 128, 1, 0, false, false, 2, 2, 1},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":192", 1, 192, 1, 0, false, false, 3, 3, 1},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":128,\"workersPerJobInstance\":4", 1, 128, 4, 0, true, false,
     4, 4, 4},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":128,\"modelReplicasPerWorker\":32", 1, 128, 1, 32, true,
     false, 2, 32, 1},
    /* what partition overrides */
    {"\"jobInstances\":1,\"ipusPerJobInstance\":4,\"partition\":{\"reconfigurable\":false}", 1, 4, 1, 0,
     false, false, 1, 1, 1},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":4,\"partition\":{\"gcds\":4}", 1, 4, 1, 0, false, false, 4, 4,
     1},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":4,\"modelReplicasPerWorker\":2,\"partition\":{"
     "\"reconfigurable\":true}",
     1, 4, 1, 2, true, true, 1, 2, 1},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":4,\"workersPerJobInstance\":2,\"partition\":{\"gcds\":4}", 1,
     4, 2, 0, true, false, 4, 4, 2},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":4,\"workersPerJobInstance\":2,\"partition\":{"
     "\"reconfigurable\":true}",
     1, 4, 2, 0, true, true, 1, 1, 2},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":65536", 1, 65536, 1, 0, false, false, 1024, 1024, 1},
};

TEST(a_valid_spec_gives_its_shape)
{
    CHECK_ROWS (row, shapes) {
        AUTO(mem) char *spec = mem_printf("%s," WORKERS, row->spec);
        AUTO(job) struct job *job = parse(spec);

        check_problems(job, (const char *const[]){NULL});
        CHECK_INT_EQ(job->spec.instances, row->instances);
        CHECK_INT_EQ(job->spec.ipus_per_instance, row->ipus);
        CHECK_INT_EQ(job->spec.workers_per_instance, row->workers);
        CHECK_INT_EQ(job->spec.replicas_per_worker, row->replicas);
        CHECK_INT_EQ(job_has_popdist(&job->spec), row->popdist);
        CHECK_INT_EQ(job_has_several_workers(&job->spec), row->workers > 1);
        CHECK_INT_EQ(job_is_reconfigurable(&job->spec), row->reconfigurable);
        CHECK_INT_EQ(job_gcds(&job->spec), row->gcds);
        CHECK_INT_EQ(job_vipu_replicas(&job->spec), row->vipu_replicas);
        CHECK_INT_EQ(job_pods(&job->spec), row->pods);
    }
}

TEST(workers_replicas_counts_pods_where_nothing_else_does)
{
    AUTO(job)
    struct job *job =
        parse("\"jobInstances\":1,\"ipusPerJobInstance\":8,\"workers\":{\"replicas\":4,\"template\":{"
              "\"spec\":{\"containers\":[{\"name\":\"main\"}]}}}");
    AUTO(job)
    struct job *same =
        parse("\"jobInstances\":1,\"ipusPerJobInstance\":8,\"workersPerJobInstance\":\"4\",\"workers\":{"
              "\"replicas\":4,\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}}");

    CHECK_INT_EQ(job->spec.workers_per_instance, 4);
    CHECK_INT_EQ(job->problems.count, 0);
    CHECK_INT_EQ(same->spec.workers_per_instance, 4);
    CHECK_INT_EQ(same->problems.count, 0);
}

/* ---- what is refused: field, reason, value ---- */

#define ONE "\"jobInstances\":1,"
#define IPUS_WANTED                                                                                          \
    "spec.ipusPerJobInstance: must be a power of two from 1 to 64, or a multiple of 64 above that, got "

static const struct {
    const char *spec, *problem;
} mistakes[] = {
    {ONE "\"ipusPerJobInstance\":\"0\"", IPUS_WANTED "\"0\""},
    {ONE "\"ipusPerJobInstance\":0", IPUS_WANTED "0"},
    {ONE "\"ipusPerJobInstance\":\"-4\"", IPUS_WANTED "\"-4\""},
    {ONE "\"ipusPerJobInstance\":-4", IPUS_WANTED "-4"},
    {ONE "\"ipusPerJobInstance\":\"four\"", IPUS_WANTED "\"four\""},
    {ONE "\"ipusPerJobInstance\":\"4 \"", IPUS_WANTED "\"4 \""},
    {ONE "\"ipusPerJobInstance\":\"+4\"", IPUS_WANTED "\"+4\""},
    {ONE "\"ipusPerJobInstance\":\"\"", IPUS_WANTED "\"\""},
    {ONE "\"ipusPerJobInstance\":2.5", IPUS_WANTED "2.5"},
    {ONE "\"ipusPerJobInstance\":\"3\"", IPUS_WANTED "\"3\""},
    {ONE "\"ipusPerJobInstance\":\"65\"", IPUS_WANTED "\"65\""},
    {ONE "\"ipusPerJobInstance\":\"96\"", IPUS_WANTED "\"96\""},
    {ONE "\"ipusPerJobInstance\":\"65600\"", IPUS_WANTED "\"65600\""},
    {ONE "\"ipusPerJobInstance\":\"99999999999\"", IPUS_WANTED "\"99999999999\""},
    {ONE "\"ipusPerJobInstance\":1e99", IPUS_WANTED "1e+99"},
    {ONE "\"ipusPerJobInstance\":true", IPUS_WANTED "true"},
    {ONE "\"ipusPerJobInstance\":[4]", IPUS_WANTED "[4]"},
    {ONE "\"ipusPerJobInstance\":null", IPUS_WANTED "null"},
    {"\"jobInstances\":1", IPUS_WANTED "nothing"},
    {"\"ipusPerJobInstance\":1", "spec.jobInstances: is required"},
    {"\"jobInstances\":null,\"ipusPerJobInstance\":1", "spec.jobInstances: is required"},
    {"\"jobInstances\":-1,\"ipusPerJobInstance\":1",
     "spec.jobInstances: must be a whole number from 0 to 65536, got -1"},
    {"\"jobInstances\":1.5,\"ipusPerJobInstance\":1",
     "spec.jobInstances: must be a whole number from 0 to 65536, got 1.5"},
    {ONE "\"ipusPerJobInstance\":4,\"workersPerJobInstance\":\"0\"",
     "spec.workersPerJobInstance: must be a whole number from 1 to 4096, got \"0\""},
    {ONE "\"ipusPerJobInstance\":4,\"workersPerJobInstance\":\"two\"",
     "spec.workersPerJobInstance: must be a whole number from 1 to 4096, got \"two\""},
    {ONE "\"ipusPerJobInstance\":4,\"modelReplicasPerWorker\":0",
     "spec.modelReplicasPerWorker: must be a whole number from 1 to 65536, got 0"},
    {ONE "\"ipusPerJobInstance\":4,\"workersPerJobInstance\":3",
     "spec.ipusPerJobInstance: 4 IPUs cannot be shared equally by 3 worker(s) x 1 model replica(s)"},
    {ONE "\"ipusPerJobInstance\":4,\"workersPerJobInstance\":8",
     "spec.ipusPerJobInstance: 4 IPUs cannot be shared equally by 8 worker(s) x 1 model replica(s)"},
    {ONE "\"ipusPerJobInstance\":4,\"modelReplicasPerWorker\":\"3\"",
     "spec.ipusPerJobInstance: 4 IPUs cannot be shared equally by 1 worker(s) x 3 model replica(s)"},
    {ONE "\"ipusPerJobInstance\":4,\"workersPerJobInstance\":2,\"modelReplicasPerWorker\":4",
     "spec.ipusPerJobInstance: 4 IPUs cannot be shared equally by 2 worker(s) x 4 model replica(s)"},
    {ONE "\"ipusPerJobInstance\":192,\"workersPerJobInstance\":3",
     "spec.workersPerJobInstance: must be a power of two, because every worker gets one GCD of the "
     "partition, "
     "got 3"},
    {ONE "\"ipusPerJobInstance\":4,\"restartPolicy\":{\"type\":\"Sometimes\"}",
     "spec.restartPolicy.type: must be Always, OnFailure, Never or ExitCode, got \"Sometimes\""},
    {ONE "\"ipusPerJobInstance\":4,\"restartPolicy\":{\"type\":\"ExitCode\"}",
     "spec.restartPolicy.exitCodes: is required when type is ExitCode"},
    {ONE "\"ipusPerJobInstance\":4,\"restartPolicy\":{\"type\":\"Always\",\"backOffLimit\":-1}",
     "spec.restartPolicy.backOffLimit: must be a whole number from 0 to 2147483647, got -1"},
    {ONE "\"ipusPerJobInstance\":4,\"interactive\":{\"ttl\":\"soon\"}",
     "spec.interactive.ttl: must be a whole number from 1 to 2147483647, got \"soon\""},
    {ONE "\"ipusPerJobInstance\":4,\"partition\":{\"gcds\":3}",
     "spec.partition.gcds: 3 does not divide the 4 IPUs of spec.ipusPerJobInstance"},
    {ONE "\"ipusPerJobInstance\":4,\"partition\":{\"gcds\":0}",
     "spec.partition.gcds: must be a whole number from 1 to 4096, got 0"},
    {ONE "\"ipusPerJobInstance\":8,\"workersPerJobInstance\":4,\"partition\":{\"gcds\":2}",
     "spec.partition.gcds: every one of the 4 workers needs a GCD of its own, got 2"},
    {ONE "\"ipusPerJobInstance\":4,\"partition\":{\"reconfigurable\":true,\"gcds\":2}",
     "spec.partition.reconfigurable: a reconfigurable partition has one GCD and at most 64 IPUs"},
    {ONE "\"ipusPerJobInstance\":128,\"partition\":{\"reconfigurable\":true}",
     "spec.partition.reconfigurable: a reconfigurable partition has one GCD and at most 64 IPUs"},
    {ONE "\"ipusPerJobInstance\":4,\"launcher\":{\"command\":[]}",
     "spec.launcher.command: must be the words of a command, such as [\"mpirun\", \"program\"], got []"},
    {ONE "\"ipusPerJobInstance\":4,\"launcher\":{\"command\":[\"mpirun\",4]}",
     "spec.launcher.command: must be the words of a command, such as [\"mpirun\", \"program\"], got "
     "[\"mpirun\",4]"},
    {ONE "\"ipusPerJobInstance\":4,\"launcher\":{\"command\":[\"a\"],\"env\":[{\"name\":\"A\"},{}]}",
     "spec.launcher.env[1].name: is required"},
    {ONE "\"ipusPerJobInstance\":4,\"launcher\":{\"command\":[\"a\"],\"env\":7}",
     "spec.launcher.env: must be a list of variables, got 7"},
    {ONE "\"ipusPerJobInstance\":4,\"launcher\":{\"command\":[\"a\"],\"template\":{\"spec\":{"
         "\"containers\":[{\"name\":\"a\",\"command\":[\"b\"]}]}}}",
     "spec.launcher.template.spec.containers[0].command: the launcher's command stands in "
     "spec.launcher.command"},
    {ONE "\"ipusPerJobInstance\":2048,\"workersPerJobInstance\":2048,\"launcher\":{\"command\":[\"a\"]}",
     "spec.workersPerJobInstance: a launcher starts at most 1024 workers, got 2048"},
};

TEST(a_mistake_is_named_with_its_field_and_value)
{
    CHECK_ROWS (row, mistakes) {
        AUTO(mem) char *spec = mem_printf("%s," WORKERS, row->spec);
        AUTO(job) struct job *job = parse(spec);

        check_problems(job, (const char *const[]){row->problem, NULL});
    }
}

TEST(a_wrong_value_is_one_line_and_cut_between_characters)
{
    AUTO(job)
    struct job *job =
        parse(ONE "\"ipusPerJobInstance\":\"xy\\n\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
                  "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
                  "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
                  "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\"," WORKERS);

    CHECK_INT_EQ(job->problems.count, 1);
    CHECK(!strchr(job->problems.items[0], '\n'));
    CHECK_HAS(job->problems.items[0], "got \"xy\\n\xC3\xA4");
    CHECK(str_has_suffix(job->problems.items[0], "\xC3\xA4"));
}

TEST(all_mistakes_are_named_at_once)
{
    AUTO(job)
    struct job *job = parse(
        "\"ipusPerJobInstance\":\"3\",\"workersPerJobInstance\":\"x\",\"restartPolicy\":{\"type\":\"No\","
        "\"exitCodes\":\"a\"},\"launcher\":{},\"workers\":{\"replicas\":0,\"template\":{}}");
    static const char *const want[] = {
        "spec.jobInstances: is required",
        IPUS_WANTED "\"3\"",
        "spec.workersPerJobInstance: must be a whole number from 1 to 4096, got \"x\"",
        "spec.workers.replicas: must be a whole number from 1 to 4096, got 0",
        "spec.restartPolicy.type: must be Always, OnFailure, Never or ExitCode, got \"No\"",
        "spec.restartPolicy.exitCodes: must be codes from 0 to 255 and ranges such as \"1-5,137\", got \"a\"",
        "spec.workers.template.spec.containers: at least one container is required",
        "spec.launcher.command: must be the words of a command, such as [\"mpirun\", \"program\"], got "
        "nothing",
        NULL};

    check_problems(job, want);
}

TEST(two_counts_of_workers_must_agree)
{
    AUTO(job)
    struct job *job =
        parse("\"jobInstances\":1,\"ipusPerJobInstance\":8,\"workersPerJobInstance\":2,\"workers\":{"
              "\"replicas\":4,\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}}");

    check_problems(job,
                   (const char *const[]){"spec.workers.replicas: is 4, but spec.workersPerJobInstance is "
                                         "2; give one of them, or make them equal",
                                         NULL});
}

TEST(a_first_container_needs_a_name)
{
    AUTO(job)
    struct job *job =
        parse("\"jobInstances\":1,\"ipusPerJobInstance\":8,\"workers\":{\"template\":{\"spec\":{"
              "\"containers\":[{\"image\":\"a\"}]}}}");

    check_problems(job,
                   (const char *const[]){"spec.workers.template.spec.containers[0].name: is required", NULL});
}

/* ---- names ---- */

TEST(the_longest_pod_name_must_fit)
{
    char name[64] = {0};

    memset(name, 'a', 54); /* + "-worker-0" is 63 */
    AUTO(job) struct job *fits = parse_named(name, ONE "\"ipusPerJobInstance\":4," WORKERS);
    AUTO(job) struct job *ten = parse_named(name, "\"jobInstances\":11,\"ipusPerJobInstance\":4," WORKERS);
    AUTO(mem)
    char *want = mem_printf("metadata.name: pod \"%s-worker-10\" would have 64 characters, at most 63 are "
                            "possible; use a name of at most 53",
                            name);

    CHECK_INT_EQ(fits->problems.count, 0);
    check_problems(ten, (const char *const[]){want, NULL});
}

TEST(names_of_several_workers_must_suit_a_service)
{
    static const char *const names[] = {"has.dots", "1starts-with-a-digit"};

    CHECK_ROWS (name, names) {
        AUTO(job)
        struct job *one = parse_named(*name, ONE "\"ipusPerJobInstance\":4," WORKERS);
        AUTO(job)
        struct job *two =
            parse_named(*name, ONE "\"ipusPerJobInstance\":4,\"workersPerJobInstance\":2," WORKERS);

        CHECK_INT_EQ(one->problems.count, 0);
        CHECK_INT_EQ(two->problems.count, 1);
        CHECK_HAS(two->problems.items[0],
                  "metadata.name: a job with several workers per instance needs a name");
    }
}

/* ---- restart policy ---- */

TEST(a_restart_policy_has_the_defaults_of_the_original)
{
    AUTO(job) struct job *none = parse(ONE "\"ipusPerJobInstance\":4," WORKERS);
    AUTO(job)
    struct job *some =
        parse(ONE "\"ipusPerJobInstance\":4,\"restartPolicy\":{\"type\":\"ExitCode\",\"exitCodes\":"
                  "\"1-5,137\",\"backOffLimit\":7}," WORKERS);

    CHECK_INT_EQ(none->spec.restart, RESTART_NEVER);
    CHECK_INT_EQ(none->spec.backoff_limit, 3);
    CHECK(!none->spec.exit_codes);
    CHECK_INT_EQ(some->spec.restart, RESTART_EXIT_CODE);
    CHECK_INT_EQ(some->spec.backoff_limit, 7);
    CHECK_STR_EQ(some->spec.exit_codes, "1-5,137");
    CHECK_INT_EQ(some->problems.count, 0);
}

TEST(every_restart_type_is_known)
{
    static const struct {
        const char *text;
        enum restart_type type;
    } rows[] = {{"Never", RESTART_NEVER}, {"Always", RESTART_ALWAYS}, {"OnFailure", RESTART_ON_FAILURE}};

    CHECK_ROWS (row, rows) {
        AUTO(mem)
        char *spec = mem_printf(ONE "\"ipusPerJobInstance\":4,\"restartPolicy\":{\"type\":\"%s\"}," WORKERS,
                                row->text);
        AUTO(job) struct job *job = parse(spec);

        CHECK_INT_EQ(job->spec.restart, row->type);
        CHECK_INT_EQ(job->problems.count, 0);
    }
}

TEST(exit_codes_match_lists_and_ranges)
{
    static const struct {
        const char *codes;
        int code;
        bool match;
    } rows[] = {
        {"1-5,137", 1, true},   {"1-5,137", 5, true}, {"1-5,137", 6, false}, {"1-5,137", 137, true},
        {"0", 0, true},         {"7", 7, true},       {"7", 77, false},      {"0-255", 255, true},
        {"1,2,3", 2, true},     {"1,2,3", 0, false},  {NULL, 1, false},      {"", 1, false},
        {"1-5,137x", 1, false}, {"junk", 1, false},
    };

    CHECK_ROWS (row, rows)
        CHECK_INT_EQ(job_exit_code_matches(row->codes, row->code), row->match);
}

TEST(exit_codes_are_read_strictly)
{
    static const char *const bad[] = {"",
                                      ",",
                                      "1,",
                                      ",1",
                                      "1--5",
                                      "-1",
                                      "5-1",
                                      "256",
                                      "1-256",
                                      "1-",
                                      " 1",
                                      "1 ",
                                      "+1",
                                      "1;2",
                                      "x",
                                      "0x10",
                                      "1.5",
                                      "1-2-3",
                                      "99999999999999999999"};

    CHECK_ROWS (codes, bad) {
        AUTO(mem)
        char *spec = mem_printf(ONE "\"ipusPerJobInstance\":4,\"restartPolicy\":{\"type\":\"ExitCode\","
                                    "\"exitCodes\":\"%s\"}," WORKERS,
                                *codes);
        AUTO(job) struct job *job = parse(spec);
        AUTO(mem)
        char *want =
            mem_printf("spec.restartPolicy.exitCodes: must be codes from 0 to 255 and ranges such as "
                       "\"1-5,137\", got \"%s\"",
                       *codes);

        check_problems(job, (const char *const[]){want, NULL});
    }
}

/* ---- the rest of the object ---- */

TEST(the_strategy_is_read_and_rounded_as_deployments_do)
{
    AUTO(job)
    struct job *job = parse(
        ONE "\"ipusPerJobInstance\":4,\"workers\":{\"strategy\":{\"rollingUpdate\":{\"maxSurge\":\"25%\","
            "\"maxUnavailable\":3}},\"template\":{\"spec\":{\"containers\":[{\"name\":\"a\"}]}}}");
    AUTO(job) struct job *plain = parse(ONE "\"ipusPerJobInstance\":4," WORKERS);

    CHECK_INT_EQ(job->problems.count, 0);
    CHECK_INT_EQ(job->spec.strategy, STRATEGY_ROLLING_UPDATE);
    CHECK_INT_EQ(share_of(&job->spec.max_surge, 10, true), 3);
    CHECK_INT_EQ(share_of(&job->spec.max_surge, 10, false), 2);
    CHECK_INT_EQ(share_of(&job->spec.max_unavailable, 10, false), 3);
    CHECK_INT_EQ(share_of(&plain->spec.max_surge, 10, true), 0);
    CHECK_INT_EQ(share_of(&plain->spec.max_unavailable, 10, false), 1);
    CHECK(job->revision != plain->revision);
}

TEST(a_strategy_that_replaces_nothing_is_a_mistake)
{
    AUTO(job)
    struct job *job = parse(
        ONE "\"ipusPerJobInstance\":4,\"workers\":{\"strategy\":{\"type\":\"Slowly\",\"rollingUpdate\":{"
            "\"maxSurge\":\"x%\",\"maxUnavailable\":\"0%\"}},\"template\":{\"spec\":{\"containers\":"
            "[{\"name\":\"a\"}]}}}");

    CHECK_INT_EQ(job->problems.count, 3);
    CHECK_HAS(job->problems.items[0], "spec.workers.strategy.type: must be RollingUpdate or Recreate");
    CHECK_HAS(job->problems.items[1],
              "spec.workers.strategy.rollingUpdate.maxSurge: must be a number such as 1");
    CHECK_HAS(job->problems.items[2], "must not both be zero");
}

TEST(the_clocks_of_a_job_are_read)
{
    AUTO(job)
    struct job *job = parse(ONE "\"ipusPerJobInstance\":4,\"activeDeadlineSeconds\":3600,"
                                "\"startDeadlineSeconds\":300,\"ttlSecondsAfterFinished\":0," WORKERS);

    CHECK_INT_EQ(job->problems.count, 0);
    CHECK_INT_EQ(job->spec.active_deadline_s, 3600);
    CHECK_INT_EQ(job->spec.start_deadline_s, 300);
    CHECK_INT_EQ(job->spec.ttl_after_finished_s, 0);
}

/* Never is what the pods get anyway. */
TEST(a_restart_policy_in_the_template_is_noticed)
{
    static const struct {
        const char *policy;
        bool overrides;
    } rows[] = {{"\"restartPolicy\":\"OnFailure\",", true},
                {"\"restartPolicy\":\"Always\",", true},
                {"\"restartPolicy\":\"Never\",", false},
                {"", false}};

    CHECK_ROWS (row, rows) {
        AUTO(mem)
        char *spec = mem_printf(ONE "\"ipusPerJobInstance\":4,\"workers\":{\"template\":{\"spec\":{%s"
                                    "\"containers\":[{\"name\":\"a\"}]}}}",
                                row->policy);
        AUTO(job) struct job *job = parse(spec);

        CHECK_INT_EQ(job->overrides_restart_policy, row->overrides);
    }
}

TEST(metadata_and_the_plain_fields_are_read)
{
    struct err err = {0};
    AUTO(json)
    cJSON *object = json_parse(
        SLICE_LIT(
            "{\"metadata\":{\"name\":\"train\",\"namespace\":\"team\",\"uid\":\"u1\",\"resourceVersion\":"
            "\"17\","
            "\"generation\":4,\"creationTimestamp\":\"2026-01-01T10:00:00Z\",\"deletionTimestamp\":"
            "\"2026-01-01T11:00:00Z\",\"finalizers\":[\"other/one\",\"graphcore.ai/ipu-partitions\"],"
            "\"annotations\":{\"graphcore.ai/release\":\"p-train-team-0\"}},"
            "\"spec\":{\"jobInstances\":1,\"ipusPerJobInstance\":1,\"suspend\":true,\"managedBy\":\"x/y\","
            "\"cleanPodPolicy\":\"Workers\",\"interactive\":{\"ttl\":60},\"partition\":{\"syncType\":\"a\","
            "\"routing\":\"b\",\"allocation\":\"c\"}," WORKERS "},"
            "\"status\":{\"launcherStatus\":\"Pending\"}}"),
        &err);
    CHECK_OK(object, err);
    AUTO(job) struct job *job = job_parse(object);

    CHECK_STR_EQ(job->key, "team/train");
    CHECK_STR_EQ(job->resource_version, "17");
    CHECK_INT_EQ(job->generation, 4);
    CHECK_INT_EQ(job->created_s, 1767261600);
    CHECK(job->deleting && job->has_finalizer);
    CHECK_INT_EQ(job->finalizers.count, 2);
    CHECK_STR_EQ(job->release, "p-train-team-0");
    CHECK(job->spec.suspend);
    CHECK_STR_EQ(job->spec.managed_by, "x/y");
    CHECK_INT_EQ(job->spec.clean, CLEAN_WORKERS);
    CHECK_INT_EQ(job->spec.interactive_ttl_s, 60);
    CHECK_INT_EQ(job->spec.active_deadline_s, 0);
    CHECK_INT_EQ(job->spec.start_deadline_s, 0);
    CHECK_INT_EQ(job->spec.ttl_after_finished_s, JOB_NO_TTL);
    CHECK_STR_EQ(job->spec.sync_type, "a");
    CHECK_STR_EQ(job->spec.routing, "b");
    CHECK_STR_EQ(job->spec.allocation, "c");
    CHECK_STR_EQ(job->status_json, "{\"launcherStatus\":\"Pending\"}");
    CHECK_STR_EQ(job->template_json, "{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}");
    CHECK_INT_EQ(job->problems.count, 0);
}

TEST(a_new_object_has_no_status_and_no_finalizer)
{
    AUTO(job) struct job *job = parse(ONE "\"ipusPerJobInstance\":4,\"cleanPodPolicy\":\"All\"," WORKERS);

    CHECK_STR_EQ(job->status_json, "{}");
    CHECK(!job->has_finalizer && !job->deleting && !job->release && !job->spec.managed_by);
    CHECK_INT_EQ(job->spec.clean, CLEAN_ALL);
    CHECK_INT_EQ(job->spec.reconfigurable, -1);
}

TEST(an_object_without_name_or_uid_is_no_job)
{
    static const char *const texts[] = {"{}", "[]", "{\"metadata\":{\"name\":\"a\"}}",
                                        "{\"metadata\":{\"uid\":\"a\"}}",
                                        "{\"metadata\":{\"name\":5,\"uid\":6}}"};

    CHECK_ROWS (text, texts) {
        struct err err = {0};
        AUTO(json) cJSON *object = json_parse(slice_of(*text), &err);

        CHECK_OK(object, err);
        CHECK(!job_parse(object));
    }
}

TEST(a_job_without_a_spec_is_a_job_with_problems)
{
    struct err err = {0};
    AUTO(json)
    cJSON *object = json_parse(SLICE_LIT("{\"metadata\":{\"name\":\"a\",\"uid\":\"b\"},\"spec\":7}"), &err);
    AUTO(job) struct job *job = job_parse(object);

    CHECK_INT_EQ(job->problems.count, 3);
    CHECK_STR_EQ(job->template_json, "{}");
}
