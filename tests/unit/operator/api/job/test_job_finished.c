#include "operator/api/job/job_finished.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define FAILED(reason, generation)                                                                           \
    "{\"conditions\":[{\"type\":\"Running\",\"status\":\"False\"},{\"type\":\"Failed\",\"status\":\"True\"," \
    "\"reason\":\"" reason "\",\"observedGeneration\":" generation "}]}"

TEST(an_end_is_known_by_its_condition_and_a_rejection_by_its_reason)
{
    static const struct {
        const char *status;
        bool finished, rejection, stale_at_5;
    } rows[] = {
        {"{}", false, false, false},
        {"{\"launcherStatus\":\"Completed\"}", false, false, false}, /* output, not memory */
        {"{\"conditions\":[{\"type\":\"Completed\",\"status\":\"True\"}]}", true, false, false},
        {"{\"conditions\":[{\"type\":\"Completed\",\"status\":\"False\"}]}", false, false, false},
        {"{\"conditions\":[{\"type\":\"Completed\",\"status\":\"Unknown\"}]}", false, false, false},
        {FAILED("ContainerFailed", "4"), true, false, false},
        {FAILED("InvalidPodTemplate", "4"), true, true, true},
        {FAILED("InvalidPodTemplate", "5"), true, true, false},
        {FAILED("PartitionRejected", "4"), true, true, true},
        {FAILED("PartitionRejected", "5"), true, true, false},
        {FAILED("InvalidSpec", "4"), true, true, true},
        {FAILED("InvalidSpec", "5"), true, true, true}, /* dry_run_entry every time */
        {"{\"conditions\":\"none\"}", false, false, false},
    };

    CHECK_ROWS (row, rows) {
        struct err err = {0};
        AUTO(json) cJSON *status = json_parse(slice_of(row->status), &err);

        CHECK_OK(status, err);
        CHECK_INT_EQ(status_is_finished(status), row->finished);
        CHECK_INT_EQ(status_is_rejection(status), row->rejection);
        CHECK_INT_EQ(status_is_outdated_rejection(status, 5), row->stale_at_5);
    }
    CHECK(!status_is_finished(NULL));
    CHECK(!status_is_outdated_rejection(NULL, 1));
}
