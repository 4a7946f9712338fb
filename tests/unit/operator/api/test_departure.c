#include "operator/api/departure.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define OURS "\"finalizers\":[\"graphcore.ai/ipu-partitions\"]"
#define SUSPENDED(generation, total)                                                                         \
    "\"launcherStatus\":\"Suspended\",\"observedGeneration\":" generation                                    \
    ",\"partitionCounts\":{\"total\":" total "}"

static const struct {
    const char *metadata;
    bool suspend;
    const char *status;
    enum departure want;
} rows[] = {
    {"", false, "", DEPARTURE_FREE},
    {"\"finalizers\":[\"example.com/other\"]", false, "\"launcherStatus\":\"Running\"", DEPARTURE_FREE},
    {OURS, false, "", DEPARTURE_LIVE},
    {OURS, false, "\"launcherStatus\":\"Running\"", DEPARTURE_LIVE},
    {OURS, true, "\"launcherStatus\":\"Running\"", DEPARTURE_ENDING},
    {OURS, true, SUSPENDED("4", "1"), DEPARTURE_ENDING},
    {OURS, true, SUSPENDED("3", "0"), DEPARTURE_ENDING}, /* of an earlier spec */
    {OURS, true, "\"launcherStatus\":\"Suspended\",\"observedGeneration\":4", DEPARTURE_ENDING},
    {OURS, true, SUSPENDED("4", "0"), DEPARTURE_PARKED},
    {OURS, false, SUSPENDED("4", "0"), DEPARTURE_LIVE}, /* resumed just now */
    {OURS, false, "\"completionTime\":\"2026-01-01T10:00:00Z\"", DEPARTURE_ENDING},
    {OURS ",\"deletionTimestamp\":\"2026-01-01T10:00:00Z\"", false, "\"launcherStatus\":\"Running\"",
     DEPARTURE_ENDING},
    {OURS ",\"deletionTimestamp\":\"2026-01-01T10:00:00Z\"", true, SUSPENDED("4", "0"), DEPARTURE_ENDING},
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

        CHECK_INT_EQ(departure_of(job), row->want);
    }
}

TEST(a_job_is_named_with_its_state)
{
    AUTO(job) struct job *fresh = parse("", false, "");
    AUTO(job) struct job *runs = parse("", false, "\"launcherStatus\":\"Running\"");
    AUTO(mem) char *first = departure_describe(fresh);
    AUTO(mem) char *second = departure_describe(runs);

    CHECK_STR_EQ(first, "team/train (Pending)");
    CHECK_STR_EQ(second, "team/train (Running)");
}
