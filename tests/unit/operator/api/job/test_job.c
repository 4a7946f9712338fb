#include "operator/api/job/job.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

#define WORKERS "\"workers\":{\"replicas\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}}"
#define ONE "\"jobInstances\":1,"

static struct job *parse(const char *spec)
{
    struct err err = {0};
    AUTO(mem)
    char *text = mem_printf("{\"metadata\":{\"name\":\"train\",\"namespace\":\"team\",\"uid\":\"u1\","
                            "\"resourceVersion\":\"17\",\"generation\":4,"
                            "\"creationTimestamp\":\"2026-01-01T10:00:00Z\"},\"spec\":{%s}}",
                            spec);
    AUTO(json) cJSON *object = json_parse(slice_of(text), &err);

    CHECK_OK(object, err);
    return job_parse(object);
}

/* ---- what is accepted, and the shape it gives (design, section 8) ---- */

static const struct {
    const char *spec;
    uint32_t instances, ipus, workers, replicas;
    bool popdist, reconfigurable;
    uint32_t gcds, vipu_replicas;
} shapes[] = {
    {"\"jobInstances\":1,\"ipusPerJobInstance\":\"4\"", 1, 4, 1, 0, false, true, 1, 1},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":4", 1, 4, 1, 0, false, true, 1, 1},
    {"\"jobInstances\":0,\"ipusPerJobInstance\":1", 0, 1, 1, 0, false, true, 1, 1},
    {"\"jobInstances\":3,\"ipusPerJobInstance\":\"64\"", 3, 64, 1, 0, false, true, 1, 1},
    /* the seed's poprun job: 16 replicas of 4 IPUs */
    {"\"jobInstances\":1,\"ipusPerJobInstance\":\"64\",\"modelReplicasPerWorker\":\"16\"", 1, 64, 1, 16, true,
     false, 1, 16},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":\"64\",\"modelReplicasPerWorker\":16", 1, 64, 1, 16, true,
     false, 1, 16},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":4,\"modelReplicasPerWorker\":1", 1, 4, 1, 1, true, false, 1,
     1},
    {"\"jobInstances\":2,\"ipusPerJobInstance\":\"8\",\"workersPerJobInstance\":\"2\"", 2, 8, 2, 0, true,
     false, 2, 2},
    {"\"jobInstances\":2,\"ipusPerJobInstance\":\"8\",\"workersPerJobInstance\":2,\"modelReplicasPerWorker\":"
     "\"2\"",
     2, 8, 2, 2, true, false, 2, 4},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":\"8\",\"workersPerJobInstance\":\"1\"", 1, 8, 1, 0, false,
     true, 1, 1},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":2,\"workersPerJobInstance\":2", 1, 2, 2, 0, true, false, 2,
     2},
    /* several IPU-Link domains: at least one GCD each, never reconfigurable */
    {"\"jobInstances\":1,\"ipusPerJobInstance\":\"128\"", 1, 128, 1, 0, false, false, 2, 2},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":192", 1, 192, 1, 0, false, false, 3, 3},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":128,\"workersPerJobInstance\":4", 1, 128, 4, 0, true, false,
     4, 4},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":128,\"modelReplicasPerWorker\":32", 1, 128, 1, 32, true,
     false, 2, 32},
    /* what partition overrides */
    {"\"jobInstances\":1,\"ipusPerJobInstance\":4,\"partition\":{\"reconfigurable\":false}", 1, 4, 1, 0,
     false, false, 1, 1},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":4,\"partition\":{\"gcds\":4}", 1, 4, 1, 0, false, false, 4,
     4},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":4,\"modelReplicasPerWorker\":2,\"partition\":{"
     "\"reconfigurable\":true}",
     1, 4, 1, 2, true, true, 1, 2},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":4,\"workersPerJobInstance\":2,\"partition\":{\"gcds\":4}", 1,
     4, 2, 0, true, false, 4, 4},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":4,\"workersPerJobInstance\":2,\"partition\":{"
     "\"reconfigurable\":true}",
     1, 4, 2, 0, true, true, 1, 1},
    {"\"jobInstances\":1,\"ipusPerJobInstance\":65536", 1, 65536, 1, 0, false, false, 1024, 1024},
};

#define CHECK_PACK(pack, want)                                                                               \
    do {                                                                                                     \
        AUTO(mem) char *text_ = compressed_text_get(pack);                                                   \
        CHECK_STR_EQ(text_, want);                                                                           \
    } while (0)

TEST(a_valid_spec_gives_its_shape)
{
    CHECK_ROWS (row, shapes) {
        AUTO(mem) char *spec = mem_printf("%s," WORKERS, row->spec);
        AUTO(job) struct job *job = parse(spec);

        CHECK_INT_EQ(job->problems.count, 0);
        CHECK_INT_EQ(job->spec.instances, row->instances);
        CHECK_INT_EQ(job->spec.ipus_per_instance, row->ipus);
        CHECK_INT_EQ(job->spec.workers_per_instance, row->workers);
        CHECK_INT_EQ(job->spec.replicas_per_worker, row->replicas);
        CHECK_INT_EQ(job_has_popdist(&job->spec), row->popdist);
        CHECK_INT_EQ(job_has_several_workers(&job->spec), row->workers > 1);
        CHECK_INT_EQ(job_is_reconfigurable(&job->spec), row->reconfigurable);
        CHECK_INT_EQ(job_gcds(&job->spec), row->gcds);
        CHECK_INT_EQ(job_vipu_replicas(&job->spec), row->vipu_replicas);
    }
}

TEST(a_worker_has_a_slot_for_each_gcd_unless_the_job_says_otherwise)
{
    static const struct {
        const char *spec;
        uint32_t slots;
    } rows[] = {
        {"\"ipusPerJobInstance\":4", 1},
        {"\"ipusPerJobInstance\":128", 2},
        {"\"ipusPerJobInstance\":128,\"workersPerJobInstance\":2", 1},
        {"\"ipusPerJobInstance\":4,\"workersPerJobInstance\":2,\"partition\":{\"gcds\":4}", 2},
        {"\"ipusPerJobInstance\":4,\"workersPerJobInstance\":2,\"partition\":{\"reconfigurable\":true}", 1},
        {"\"ipusPerJobInstance\":4,\"launcher\":{\"command\":[\"mpirun\"],\"slotsPerWorker\":3}", 3},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *spec = mem_printf("\"jobInstances\":1,%s," WORKERS, row->spec);
        AUTO(job) struct job *job = parse(spec);

        CHECK_INT_EQ(job->problems.count, 0);
        CHECK_INT_EQ(job_slots(&job->spec), row->slots);
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
    CHECK_INT_EQ(int_or_percent_of(&job->spec.max_surge, 10, true), 3);
    CHECK_INT_EQ(int_or_percent_of(&job->spec.max_surge, 10, false), 2);
    CHECK_INT_EQ(int_or_percent_of(&job->spec.max_unavailable, 10, false), 3);
    CHECK_INT_EQ(int_or_percent_of(&plain->spec.max_surge, 10, true), 0);
    CHECK_INT_EQ(int_or_percent_of(&plain->spec.max_unavailable, 10, false), 1);
    CHECK(job->revision != plain->revision);
}

/* Each of them has a place in every view of the job. */
TEST(no_more_instances_run_beside_the_others_than_there_are_others)
{
    static const struct {
        const char *instances, *surge;
        uint32_t want;
    } rows[] = {{"4", "3", 3}, {"4", "99999", 4}, {"4", "\"5000%\"", 4}, {"0", "3", 0}, {"9999", "3", 1}};

    CHECK_ROWS (row, rows) {
        AUTO(mem)
        char *spec = mem_printf("\"jobInstances\":%s,\"ipusPerJobInstance\":4,\"workers\":{\"strategy\":{"
                                "\"rollingUpdate\":{\"maxSurge\":%s}},\"template\":{\"spec\":{"
                                "\"containers\":[{\"name\":\"a\"}]}}}",
                                row->instances, row->surge);
        AUTO(job) struct job *job = parse(spec);

        CHECK_INT_EQ(job->problems.count, 0);
        CHECK_INT_EQ(job_surge(&job->spec), row->want);
    }
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
            "\"annotations\":{\"graphcore.ai/release\":\"p-train-team-0\",\"graphcore.ai/"
            "operator\":\"ipus\",\"graphcore.ai/first-operator\":\"first\"}},"
            "\"spec\":{\"jobInstances\":1,\"ipusPerJobInstance\":1,\"suspend\":true,\"managedBy\":\"x/y\","
            "\"cleanPodPolicy\":\"Workers\",\"interactive\":{\"ttl\":60},\"partition\":{\"syncType\":\"c2-"
            "compatible\","
            "\"routing\":\"dnc\",\"allocation\":\"c\"}," WORKERS "},"
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
    CHECK(!job_is_of_other_operator(job, "ipus") && job_is_of_other_operator(job, "others"));
    CHECK(!job_was_of_other_operator(job, "first") && job_was_of_other_operator(job, "ipus"));
    CHECK(job->spec.suspend);
    CHECK_STR_EQ(job->spec.managed_by, "x/y");
    CHECK_INT_EQ(job->spec.clean, CLEAN_WORKERS);
    CHECK_INT_EQ(job->spec.interactive_ttl_s, 60);
    CHECK_INT_EQ(job->spec.active_deadline_s, 0);
    CHECK_INT_EQ(job->spec.start_deadline_s, 0);
    CHECK_INT_EQ(job->spec.ttl_after_finished_s, JOB_NO_TTL);
    CHECK_STR_EQ(job->spec.sync_type, "c2-compatible");
    CHECK_STR_EQ(job->spec.routing, "dnc");
    CHECK_STR_EQ(job->spec.allocation, "c");
    CHECK_PACK(job->status_text, "{\"launcherStatus\":\"Pending\"}");
    CHECK_STR_EQ(job->state, "Pending");
    CHECK_PACK(job->template_text, "{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}");
    CHECK_INT_EQ(job->problems.count, 0);
}

TEST(a_new_object_has_no_status_and_no_finalizer)
{
    AUTO(job) struct job *job = parse(ONE "\"ipusPerJobInstance\":4,\"cleanPodPolicy\":\"All\"," WORKERS);

    CHECK_PACK(job->status_text, "{}");
    CHECK_STR_EQ(job->state, "");
    CHECK(!job_is_of_other_operator(job, "ipus") && !job_was_of_other_operator(job, "ipus"));
    CHECK(!job->has_finalizer && !job->deleting && !job->release && !job->spec.managed_by);
    CHECK_INT_EQ(job->spec.clean, CLEAN_ALL);
    CHECK_INT_EQ(job->spec.reconfigurable, -1);
}

/* The first one may still have records of the job, which the next one does not see. */
TEST(operators_give_a_job_that_they_pass_on_different_ids)
{
    struct job job = {.name = (char *)(uintptr_t) "train",
                      .uid = (char *)(uintptr_t) "64d842cc-1663-4522",
                      .first_operator_ns = (char *)(uintptr_t) "first"};
    AUTO(mem) char *of_first = job_hashed_partition(&job, "first", "p", 0, 1);
    AUTO(mem) char *of_second = job_hashed_partition(&job, "second", "p", 0, 1);
    AUTO(mem) char *of_third = job_hashed_partition(&job, "third", "p", 0, 1);
    AUTO(mem) char *again = job_hashed_partition(&job, "second", "p", 0, 1);

    CHECK_STR_EQ(of_first, "p-train-64d842cc16-0-1");
    CHECK(!str_eq(of_first, of_second) && !str_eq(of_second, of_third));
    CHECK_STR_EQ(of_second, again);
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
    CHECK_PACK(job->template_text, "{}");
}

static char *filler_new(size_t bytes)
{
    char *text = mem_alloc(bytes + 1);

    memset(text, 'x', bytes);
    text[bytes] = '\0';
    return text;
}

/* Users may store it where no webhook is asked; only their own job suffers from it. */
TEST(what_is_too_large_is_not_kept)
{
    AUTO(mem) char *filler = filler_new(JOB_TEMPLATE_MAX);
    AUTO(mem)
    char *spec = mem_printf(ONE "\"ipusPerJobInstance\":4,\"launcher\":{\"command\":[\"%s\"]},"
                                "\"workers\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\","
                                "\"image\":\"%s\"}]}}}",
                            filler, filler);
    AUTO(job) struct job *job = parse(spec);
    AUTO(job) struct job *small = parse(ONE "\"ipusPerJobInstance\":4," WORKERS);

    CHECK_INT_EQ(job->problems.count, 2);
    CHECK_PACK(job->template_text, "{}");
    CHECK_PACK(job->launcher_text, "{}");
    CHECK(job->revision != small->revision);
}

static struct job *parse_with_finalizers(size_t count, const char *last)
{
    AUTO(json) cJSON *object = json_object();
    cJSON *metadata = json_put_object(object, "metadata"), *finalizers;

    json_put_str(metadata, "name", "train");
    json_put_str(metadata, "uid", "u1");
    finalizers = json_put_array(metadata, "finalizers");
    for (size_t i = 0; i < count; i++)
        json_push_str(finalizers, "example.com/0123"); /* 16 bytes */
    json_push_str(finalizers, last);
    return job_parse(object);
}

TEST(finalizers_have_a_limit)
{
    AUTO(job) struct job *most = parse_with_finalizers(JOB_FINALIZERS_MAX / 16 - 1, "example.com/last");
    AUTO(job) struct job *many = parse_with_finalizers(100000, "graphcore.ai/ipu-partitions");

    CHECK_INT_EQ(most->finalizers.count, JOB_FINALIZERS_MAX / 16);
    CHECK(!most->has_many_finalizers && !most->has_finalizer);
    CHECK_INT_EQ(many->finalizers.count, JOB_FINALIZERS_MAX / 16);
    CHECK(many->has_many_finalizers && many->has_finalizer);
}

TEST(short_finalizers_count_as_longer_ones)
{
    AUTO(json) cJSON *object = json_object();
    cJSON *finalizers = json_put_array(json_put_object(object, "metadata"), "finalizers");
    AUTO(job) struct job *job = NULL;

    json_put_str(json_at_mut(object, "metadata"), "name", "a");
    json_put_str(json_at_mut(object, "metadata"), "uid", "b");
    for (size_t i = 0; i <= JOB_FINALIZERS_MAX / JOB_FINALIZER_LEAST; i++)
        json_push_str(finalizers, "a");
    job = job_parse(object);
    CHECK(job->has_many_finalizers);
    CHECK_INT_EQ(job->finalizers.count, JOB_FINALIZERS_MAX / JOB_FINALIZER_LEAST);
}

static struct job *parse_released(size_t bytes)
{
    AUTO(mem) char *ids = filler_new(bytes);
    AUTO(mem)
    char *text = mem_printf("{\"metadata\":{\"name\":\"a\",\"uid\":\"b\",\"annotations\":{"
                            "\"graphcore.ai/release\":\"%s\"}}}",
                            ids);
    struct err err = {0};
    AUTO(json) cJSON *object = json_parse(slice_of(text), &err);

    CHECK_OK(object, err);
    return job_parse(object);
}

TEST(a_list_of_ids_to_release_has_a_limit)
{
    AUTO(job) struct job *longest = parse_released(JOB_RELEASE_MAX);
    AUTO(job) struct job *longer = parse_released(JOB_RELEASE_MAX + 1);

    CHECK_INT_EQ(strlen(longest->release), JOB_RELEASE_MAX);
    CHECK(!longer->release);
}

TEST(the_shorter_limit_counts)
{
    static const struct {
        uint32_t deadline_s, ttl_s, limit_s;
    } rows[] = {{0, 0, 0}, {3600, 0, 3600}, {0, 600, 600}, {3600, 600, 600}, {600, 3600, 600}};

    CHECK_ROWS (row, rows) {
        struct job_spec spec = {.active_deadline_s = row->deadline_s, .interactive_ttl_s = row->ttl_s};

        CHECK_INT_EQ(job_limit_s(&spec), row->limit_s);
    }
}

#define GRACE(s) "{\"spec\":{\"terminationGracePeriodSeconds\":" s "}}"

TEST(the_longest_grace_period_counts)
{
    static const struct {
        const char *workers, *launcher;
        int64_t grace_s;
    } rows[] = {
        {"{}", "{}", 30},
        {GRACE("0"), "{}", 0},
        {GRACE("60"), "{}", 60},
        {GRACE("60"), "{\"template\":" GRACE("5") "}", 60},
        {GRACE("60"), "{\"template\":" GRACE("600") "}", 600},
        {"{}", "{\"template\":" GRACE("600") "}", 600},
        {GRACE("-1"), "{}", 0},
        {GRACE("1e18"), "{}", INT32_MAX},
        {GRACE("\"9\""), "{\"template\":7}", 30},
    };

    CHECK_ROWS (row, rows) {
        struct err err = {0};
        AUTO(json) cJSON *workers = json_parse(slice_of(row->workers), &err);
        AUTO(json) cJSON *launcher = json_parse(slice_of(row->launcher), &err);

        CHECK_OK(workers && launcher, err);
        CHECK_INT_EQ(job_grace_s(workers, launcher), row->grace_s);
        CHECK_INT_EQ(job_grace_s(NULL, NULL), 30);
    }
}
