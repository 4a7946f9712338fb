#include "operator/api/partition/uninstall_check.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define OURS "\"finalizers\":[\"graphcore.ai/ipu-partitions\"]"
#define MARKED(ns) OURS ",\"annotations\":{\"graphcore.ai/operator\":\"" ns "\"}"
#define SUSPENDED(generation, total)                                                                         \
    "\"launcherStatus\":\"Suspended\",\"observedGeneration\":" generation                                    \
    ",\"partitionCounts\":{\"total\":" total "}"

static const struct {
    const char *metadata;
    bool suspend;
    const char *status;
    enum uninstall_check want;
} rows[] = {
    {"", false, "", UNINSTALL_OK},
    {"\"finalizers\":[\"example.com/other\"]", false, "\"launcherStatus\":\"Running\"", UNINSTALL_OK},
    {OURS, false, "", UNINSTALL_BLOCKED},
    {OURS, false, "\"launcherStatus\":\"Running\"", UNINSTALL_BLOCKED},
    {MARKED("ipu-system"), false, "\"launcherStatus\":\"Running\"", UNINSTALL_BLOCKED},
    {MARKED("other-system"), false, "\"launcherStatus\":\"Running\"", UNINSTALL_OK},
    {MARKED("other-system"), true, SUSPENDED("4", "0"), UNINSTALL_OK},
    {OURS, true, "\"launcherStatus\":\"Running\"", UNINSTALL_ENDING},
    {OURS, true, SUSPENDED("4", "1"), UNINSTALL_ENDING},
    {OURS, true, SUSPENDED("3", "0"), UNINSTALL_ENDING}, /* of an earlier spec */
    {OURS, true, "\"launcherStatus\":\"Suspended\",\"observedGeneration\":4", UNINSTALL_ENDING},
    {OURS, true, SUSPENDED("4", "0"), UNINSTALL_SUSPENDED},
    {OURS, false, SUSPENDED("4", "0"), UNINSTALL_BLOCKED}, /* resumed just now */
    {OURS, false, "\"completionTime\":\"2026-01-01T10:00:00Z\"", UNINSTALL_ENDING},
    {OURS ",\"deletionTimestamp\":\"2026-01-01T10:00:00Z\"", false, "\"launcherStatus\":\"Running\"",
     UNINSTALL_ENDING},
    {OURS ",\"deletionTimestamp\":\"2026-01-01T10:00:00Z\"", true, SUSPENDED("4", "0"), UNINSTALL_ENDING},
};

static struct job *parse(const char *metadata, bool suspend, const char *status)
{
    struct err err = {0};
    AUTO(mem)
    char *text = mem_printf("{\"metadata\":{\"name\":\"train\",\"namespace\":\"team\",\"uid\":\"u1\","
                            "\"generation\":4%s%s},\"spec\":{\"suspend\":%s},\"status\":{%s}}",
                            *metadata ? "," : "", metadata, suspend ? "true" : "false", status);
    AUTO(json) cJSON *object = json_parse(slice_of(text), &err);

    CHECK_OK(object, err);
    return job_parse(object);
}

TEST(only_what_holds_nothing_may_be_left)
{
    CHECK_ROWS (row, rows) {
        AUTO(job) struct job *job = parse(row->metadata, row->suspend, row->status);

        CHECK_INT_EQ(uninstall_check_job(job, "ipu-system"), row->want);
    }
}

#define ADOPTED "", false, "\"launcherStatus\":\"Running\",\"startTime\":\"2023-06-01T10:00:00Z\""
#define OF_JOB "\"jobNamespace\":\"team\",\"jobName\":\"train\",\"jobUid\":\"u1\""
#define OF_EARLIER "\"jobNamespace\":\"team\",\"jobName\":\"train\",\"jobUid\":\"u0\""
#define OF_NOBODY "\"jobNamespace\":\"\",\"jobName\":\"\",\"jobUid\":\"nobody\",\"releasing\":\"true\""
#define RELEASING ",\"releasing\":\"true\""
#define SPENT RELEASING ",\"spentAt\":\"1767261600\""
#define DELETED "\"finalizers\":[\"example.com/other\"],\"deletionTimestamp\":\"2026-01-01T10:00:00Z\""

static const struct {
    const char *record;
    const char *metadata; /* NULL: there is no job */
    bool suspend;
    const char *status;
    enum uninstall_check want;
} records[] = {
    {OF_JOB, ADOPTED, UNINSTALL_BLOCKED},
    {OF_JOB RELEASING, ADOPTED, UNINSTALL_ENDING},
    {OF_JOB SPENT, ADOPTED, UNINSTALL_OK},
    {OF_EARLIER, ADOPTED, UNINSTALL_ENDING},
    {OF_NOBODY, ADOPTED, UNINSTALL_ENDING},
    {OF_JOB, DELETED, false, "\"launcherStatus\":\"Running\"", UNINSTALL_ENDING},
    {OF_JOB, NULL, false, "", UNINSTALL_ENDING},
    {OF_JOB SPENT, NULL, false, "", UNINSTALL_OK},
    {OF_NOBODY, NULL, false, "", UNINSTALL_ENDING},
    {OF_JOB, OURS, false, "\"launcherStatus\":\"Running\"", UNINSTALL_OK},
    {OF_JOB RELEASING, OURS, false, "\"launcherStatus\":\"Running\"", UNINSTALL_OK},
    {OF_JOB, MARKED("ipu-system"), false, "\"launcherStatus\":\"Running\"", UNINSTALL_OK},
    {OF_JOB, MARKED("other-system"), false, "\"launcherStatus\":\"Running\"", UNINSTALL_ENDING},
    {OF_EARLIER, OURS, false, "\"launcherStatus\":\"Running\"", UNINSTALL_ENDING},
    /* Of this operator, and taken over from the vendor's just now. */
    {OF_JOB, "", false, "\"launcherStatus\":\"Running\",\"observedGeneration\":4", UNINSTALL_ENDING},
    {OF_JOB, "\"annotations\":{\"graphcore.ai/adopt\":\"true\"}", false, "\"launcherStatus\":\"Running\"",
     UNINSTALL_ENDING},
    /* Drained, after an attempt that ended badly. */
    {OF_JOB RELEASING, "", true, SUSPENDED("4", "0"), UNINSTALL_OK},
    {OF_JOB RELEASING, "", true, SUSPENDED("4", "1"), UNINSTALL_ENDING},
    {OF_JOB RELEASING, "", false, SUSPENDED("4", "0"), UNINSTALL_ENDING},
    {OF_JOB, "", true, SUSPENDED("4", "0"), UNINSTALL_ENDING},
};

static struct record *parse_record(const char *data)
{
    struct err err = {0};
    AUTO(mem)
    char *text = mem_printf("{\"metadata\":{\"name\":\"p-train-team-0\"},"
                            "\"data\":{\"controller\":\"vipu:8090\",%s}}",
                            data);
    AUTO(json) cJSON *object = json_parse(slice_of(text), &err);

    CHECK_OK(object, err);
    return record_parse(object);
}

TEST(a_partition_that_no_job_of_ours_stands_for_is_given_back_first)
{
    CHECK_ROWS (row, records) {
        AUTO(record) struct record *record = parse_record(row->record);
        AUTO(job) struct job *job = row->metadata ? parse(row->metadata, row->suspend, row->status) : NULL;

        CHECK_INT_EQ(uninstall_check_record(record, job, "ipu-system"), row->want);
    }
}

TEST(a_partition_is_named_with_its_job)
{
    AUTO(record) struct record *jobs = parse_record(OF_JOB);
    AUTO(record) struct record *nobodys = parse_record(OF_NOBODY);
    AUTO(mem) char *first = uninstall_describe_record(jobs);
    AUTO(mem) char *second = uninstall_describe_record(nobodys);

    CHECK_STR_EQ(first, "p-train-team-0 (team/train)");
    CHECK_STR_EQ(second, "p-train-team-0");
}

TEST(a_job_is_named_with_its_state)
{
    AUTO(job) struct job *fresh = parse("", false, "");
    AUTO(job) struct job *runs = parse("", false, "\"launcherStatus\":\"Running\"");
    AUTO(mem) char *first = uninstall_describe_job(fresh);
    AUTO(mem) char *second = uninstall_describe_job(runs);

    CHECK_STR_EQ(first, "team/train (Pending)");
    CHECK_STR_EQ(second, "team/train (Running)");
}
