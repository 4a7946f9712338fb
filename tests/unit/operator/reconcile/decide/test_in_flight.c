/* What a job says on its way up, seldom or for a moment. */
#include "base/core/mem.h"
#include "lib/check.h"
#include "scenario.h"

#define REPORTED_AFTER_MS 2000
#define RESTART_MS 10000
#define SECOND_ID "p-job-0a1b2c3d4e-0-1"

static void advance_until_pod(struct world *w, const char *name)
{
    while (!world_pod(w, name))
        CHECK(world_advance(w));
}

/* The process dies before it could note that both pods exist. One goes unseen, and the other does not end. */
TEST(an_interrupted_start_is_reported_until_its_pods_have_stopped)
{
    AUTO(world) struct world *w = world_new(TWO_WORKERS);
    struct wpod *slow, *gone;

    advance_until_pod(w, "job-worker-1");
    slow = pod(w, "job-worker-0");
    slow->node_silent = true;
    gone = pod(w, "job-worker-1");
    gone->exists = false;
    gone->vanished_ms = w->now_ms;
    world_crash(w);
    world_settle(w);
    check_state(
        w, "Starting", "Recovering",
        "The operator restarted while it created pods; the instance starts again with a new partition");
    CHECK(slow->deleting);
    slow->node_silent = false;
    world_settle(w);
    world_pass(w, WORLD_STRAY_MS + REPORTED_AFTER_MS);
    check_state(w, "Running", "Running", "Running");
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, SECOND_ID);
    CHECK_INT_EQ(world_number(w, "restartCount"), 0);
}

TEST(a_partition_that_was_changed_between_two_starts_is_reported)
{
    AUTO(world) struct world *w = running(RESTARTS("{\"type\":\"OnFailure\"}"));

    world_partition(w, "p-job-ns-0")->gcds = 2;
    world_pass(w, REPORTED_AFTER_MS);
    end_all(w, 1);
    w->now_ms += RESTART_MS;
    while (!str_eq(world_said(w, "reason"), "PartitionLost"))
        CHECK(world_advance(w));
    check_state(w, "Starting", "PartitionLost",
                "Partition p-job-ns-0 changed or failed while pods were starting; the instance starts again "
                "with a new partition");
    CHECK(strv_has(&w->event_reasons, "PartitionLost"));
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, SECOND_ID);
}

/* Words that the operator does not know, of whoever runs the pod's node. */
TEST(a_pod_that_says_why_it_waits_is_quoted)
{
    AUTO(world) struct world *w = world_new(ONE);

    advance_until_pod(w, "job-worker-0");
    pod(w, "job-worker-0")->is_slow = true;
    pod(w, "job-worker-0")->ended_by = "NodeIsBeingBooted";
    world_settle(w);
    world_pass(w, REPORTED_AFTER_MS);
    check_state(w, "Starting", "PodWaiting", "Pod job-worker-0 is waiting: NodeIsBeingBooted");
    CHECK_STR_EQ(world_said(w, "stuckSince"), ""); /* it goes on by itself */
    pod(w, "job-worker-0")->is_slow = false;
    pod(w, "job-worker-0")->ended_by = NULL;
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
}

/* ValidatingTemplate is seen on the page /queue alone: the answer comes within milliseconds. */
TEST(nothing_is_reported_while_the_api_server_is_asked_about_the_template)
{
    AUTO(world) struct world *w = world_new(ONE);

    w->dry_run_answer = DRY_RUN_AWAITED;
    world_settle(w);
    world_pass(w, REPORTED_AFTER_MS);
    CHECK_INT_EQ(w->status_writes, 0);
    CHECK_INT_EQ(w->events, 0);
    CHECK_INT_EQ(w->record_count, 0);
    w->dry_run = DRY_RUN_PASSED;
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
}
