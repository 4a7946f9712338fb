#include "operator/api/job/vendor.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define BEGUN "\"launcherStatus\":\"Running\",\"desiredReplicas\":1,\"lastMessage\":\"x\""

static const struct {
    const char *metadata, *status;
    bool is_vendors;
} rows[] = {
    /* nobody has begun it: no status, what the resource definition puts there, what the vendor's does */
    {"", NULL, false},
    {"", "", false},
    {"", "\"launcherStatus\":\"Pending\",\"desiredReplicas\":0,\"lastMessage\":\"No operator\"", false},
    {"", "\"launcherStatus\":\"\",\"desiredReplicas\":1,\"lastMessage\":\"\",\"observedGeneration\":-1",
     false},
    /* the vendor's operator has */
    {"", BEGUN, true},
    {"", BEGUN ",\"observedGeneration\":-1", true},
    {"", "\"launcherStatus\":\"Completed\"", true},
    {"", "\"launcherStatus\":7", true},
    {"", "\"launcherStatus\":\"Pending\",\"iPUPartitionCreated\":false", true},
    {"", "\"launcherStatus\":\"Pending\",\"startTime\":\"2023-06-01T10:00:00Z\"", true},
    {"\"finalizers\":[\"example.com/other\"]", BEGUN, true},
    {"\"annotations\":{\"graphcore.ai/adopt\":\"false\"}", BEGUN, true},
    /* we have */
    {"", BEGUN ",\"observedGeneration\":1", false},
    {"\"finalizers\":[\"example.com/other\",\"graphcore.ai/ipu-partitions\"]", BEGUN, false},
    /* somebody says so */
    {"\"annotations\":{\"graphcore.ai/adopt\":\"true\"}", BEGUN, false},
};

TEST(a_job_is_the_vendors_when_its_operator_has_begun_it)
{
    CHECK_ROWS (row, rows) {
        struct err err = {0};
        AUTO(mem)
        char *status = row->status ? mem_printf(",\"status\":{%s}", row->status) : mem_strdup("");
        AUTO(mem) char *text = mem_printf("{\"metadata\":{%s}%s}", row->metadata, status);
        AUTO(json) cJSON *job = json_parse(slice_of(text), &err);

        CHECK_OK(job, err);
        if (vendor_owns(job) != row->is_vendors)
            CHECK_FAIL("%s", text);
    }
}
