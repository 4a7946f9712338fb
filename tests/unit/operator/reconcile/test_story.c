/* Jobs from apply to their end, told as stories in a small world. */
#include "base/core/mem.h"
#include "lib/check.h"
#include "world.h"

#define TEMPLATE "\"workers\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}}"
#define ONE "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\"," TEMPLATE "}"

TEST(a_job_runs_and_completes)
{
    AUTO(world) struct world *w = world_new(ONE);

    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_INT_EQ(world_number(w, "currentReplicas"), 1);
    world_pod_end(w, world_pod(w, "job-worker-0"), 0);
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Completed");
    CHECK_STR_EQ(world_said(w, "lastMessage"), "All instances done");
    CHECK_INT_EQ(world_number(w, "currentReplicas"), 0);
    CHECK_INT_EQ(world_number(w, "desiredReplicas"), 1);
    CHECK(json_bool(w->status, "iPUPartitionCreated", false));
    CHECK_INT_EQ(w->part_count, 0);
    CHECK_INT_EQ(w->record_count, 0);
    CHECK(!w->finalizer);
    CHECK(world_pod(w, "job-worker-0"));
}
