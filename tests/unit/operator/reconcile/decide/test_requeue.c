/* A job whose pods cannot start gives its IPUs up when another job waits for them. */
#include "scenario.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

#define AGAIN_MS 10000
#define STILL_MS 1000 /* what is over at once is not told */
#define WHY "Pod job-worker-0 is waiting: ImagePullBackOff: ImagePullBackOff"
#define DEADLINE(seconds) SPEC("\"jobInstances\":1,\"startDeadlineSeconds\":" seconds ",")

static void cannot_start(struct world *w, const char *name)
{
    pod(w, name)->is_slow = true;
    pod(w, name)->waits_in = "ImagePullBackOff";
}

static void start(struct world *w, const char *name)
{
    pod(w, name)->is_slow = false;
    pod(w, name)->waits_in = NULL;
    world_settle(w);
}

/* The image of the first pod cannot be pulled. */
static void be_stuck(struct world *w)
{
    while (!world_pod(w, "job-worker-0"))
        CHECK(world_advance(w));
    cannot_start(w, "job-worker-0");
    world_settle(w);
    world_pass(w, STILL_MS);
}

static struct world *stuck(const char *spec)
{
    struct world *w = world_new(spec);

    be_stuck(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Starting");
    CHECK_STR_EQ(world_said(w, "reason"), "ImagePullFailed");
    return w;
}

static uint32_t pods_there(const struct world *w)
{
    uint32_t count = 0;

    for (size_t i = 0; i < w->pod_count; i++)
        count += w->pods[i]->exists;
    return count;
}

static void check_given_up(struct world *w)
{
    check_state(w, "Pending", "ImagePullFailed",
                "Instance 0 could not start; IPUs released until the next try: " WHY);
    CHECK_INT_EQ(pods_there(w), 0);
    CHECK_INT_EQ(w->partition_count, 0);
    CHECK_INT_EQ(world_held(w), 0);
    check_idle(w);
}

static struct world *given_up(const char *spec)
{
    struct world *w = stuck(spec);

    w->others_wait = true;
    world_pass(w, WORLD_REQUEUE_MS);
    world_pass(w, STILL_MS);
    check_given_up(w);
    return w;
}

TEST(it_keeps_its_ipus_as_long_as_nobody_waits)
{
    AUTO(world) struct world *w = stuck(ONE);

    world_pass(w, 60 * MINUTE_MS);
    check_state(w, "Starting", "ImagePullFailed", WHY);
    CHECK_INT_EQ(w->partition_count, 1);
}

TEST(it_gives_them_up_when_the_grace_has_passed)
{
    AUTO(world) struct world *w = stuck(ONE);

    w->others_wait = true;
    world_pass(w, WORLD_REQUEUE_MS - STILL_MS - 1);
    check_state(w, "Starting", "ImagePullFailed", WHY);
    world_pass(w, STILL_MS + 1);
    world_pass(w, STILL_MS);
    check_given_up(w);
    CHECK(strv_has(&w->event_reasons, "ImagePullFailed"));
}

TEST(it_gives_them_up_at_once_when_it_has_been_stuck_for_long)
{
    AUTO(world) struct world *w = stuck(ONE);

    world_pass(w, 10 * MINUTE_MS);
    w->others_wait = true;
    world_settle(w);
    world_pass(w, STILL_MS);
    check_given_up(w);
}

TEST(it_is_tried_again_and_runs_when_it_can)
{
    AUTO(world) struct world *w = given_up(ONE);

    CHECK_INT_EQ(world_number(w, "startFailure/tries"), 1);
    CHECK_STR_EQ(world_said(w, "startFailure/reason"), "ImagePullFailed");
    CHECK_STR_EQ(world_said(w, "startFailure/message"), WHY);
    CHECK(*world_said(w, "startFailure/time"));
    world_pass(w, AGAIN_MS);
    check_state(w, "Running", "Running", "Running");
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-ns-0");
    CHECK_STR_EQ(world_said(w, "startFailure/reason"), "");
    CHECK_STR_EQ(world_said(w, "stuckSince"), "");
    CHECK_INT_EQ(world_number(w, "restartCount"), 0);
    end_all(w, 0);
    check_completed(w);
}

TEST(in_the_queue_it_tells_why_it_is_there_again)
{
    AUTO(world) struct world *w = given_up(ONE);

    w->no_grants = true;
    world_pass(w, AGAIN_MS);
    check_state(w, "Pending", "InsufficientIPUs", "Waiting for IPUs; the last start failed: " WHY);
    CHECK(*world_said(w, "stuckSince"));
    check_idle(w);
}

TEST(each_try_counts_and_all_are_one_time_of_being_stuck)
{
    AUTO(world) struct world *w = given_up(DEADLINE("200"));
    AUTO(mem) char *since = mem_strdup(world_said(w, "stuckSince"));

    CHECK(*since);
    w->now_ms += AGAIN_MS;
    be_stuck(w);
    CHECK_STR_EQ(world_said(w, "stuckSince"), since);
    world_pass(w, WORLD_REQUEUE_MS);
    world_pass(w, STILL_MS);
    check_given_up(w);
    CHECK_INT_EQ(world_number(w, "startFailure/tries"), 2);
    CHECK_STR_EQ(world_said(w, "stuckSince"), since);
    w->no_grants = true;
    world_pass(w, 2 * MINUTE_MS);
    check_state(w, "Failed", "StartDeadlineExceeded",
                "Pods did not start within 200 s (spec.startDeadlineSeconds): " WHY);
    check_nothing_held(w);
}

TEST(what_has_begun_is_not_stuck)
{
    static const char *const specs[] = {
        TWO_WORKERS,
        SPEC("\"jobInstances\":1,\"workersPerJobInstance\":2,\"launcher\":{\"command\":[\"mpirun\",\"true\"]}"
             ","),
    };

    CHECK_ROWS (spec, specs) {
        AUTO(world) struct world *w = world_new(*spec);

        w->others_wait = true;
        be_stuck(w);
        CHECK_INT_EQ(pod(w, "job-worker-1")->report, REPORT_RUNNING);
        world_pass(w, 60 * MINUTE_MS);
        check_state(w, "Starting", "ImagePullFailed", WHY);
        CHECK_INT_EQ(w->partition_count, 1);
        start(w, "job-worker-0");
        CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    }
}

TEST(a_slow_start_is_not_stuck)
{
    AUTO(world) struct world *w = world_new(ONE);

    w->others_wait = true;
    while (!world_pod(w, "job-worker-0"))
        CHECK(world_advance(w));
    pod(w, "job-worker-0")->is_slow = true; /* its image is being pulled */
    world_pass(w, 60 * MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Starting");
    CHECK_INT_EQ(w->partition_count, 1);
}

TEST(only_the_instance_that_is_stuck_gives_up)
{
    AUTO(world) struct world *w = world_new(SPEC("\"jobInstances\":2,"));

    w->others_wait = true;
    be_stuck(w);
    world_pass(w, WORLD_REQUEUE_MS);
    world_pass(w, STILL_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_STR_EQ(world_said(w, "reason"), "ImagePullFailed");
    CHECK_HAS(world_said(w, "lastMessage"), "1 of 2 instances running, 0 done; Instance 0 could not start; ");
    CHECK_INT_EQ(w->partition_count, 1);
    world_pass(w, AGAIN_MS);
    CHECK_STR_EQ(world_said(w, "lastMessage"), "2 of 2 instances running, 0 done");
}

/* Restarts that the policy counts are not forgotten with the partition. */
TEST(a_restart_that_cannot_start_gives_up_too)
{
    AUTO(world) struct world *w = running(RESTARTS("{\"type\":\"OnFailure\",\"backOffLimit\":1}"));
    const struct wpod *first = pod(w, "job-worker-0");

    w->others_wait = true;
    world_pod_end(w, pod(w, "job-worker-0"), 1);
    world_settle(w);
    w->now_ms += AGAIN_MS;
    while (!world_pod(w, "job-worker-0") || world_pod(w, "job-worker-0") == first)
        CHECK(world_advance(w));
    be_stuck(w);
    world_pass(w, WORLD_REQUEUE_MS);
    world_pass(w, STILL_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Pending");
    CHECK_INT_EQ(w->partition_count, 0);
    world_pass(w, AGAIN_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_INT_EQ(world_number(w, "restartCount"), 1);
    end_all(w, 1);
    CHECK_STR_EQ(world_said(w, "reason"), "BackoffLimitExceeded");
    check_nothing_held(w);
}

TEST(a_new_process_reads_what_was_tried)
{
    AUTO(world) struct world *w = given_up(DEADLINE("600"));
    AUTO(mem) char *since = mem_strdup(world_said(w, "stuckSince"));
    unsigned writes = w->status_writes;

    w->no_grants = true;
    world_pass(w, AGAIN_MS);
    writes = w->status_writes;
    world_crash(w);
    world_settle(w);
    check_state(w, "Pending", "InsufficientIPUs", "Waiting for IPUs; the last start failed: " WHY);
    CHECK_STR_EQ(world_said(w, "stuckSince"), since);
    CHECK_INT_EQ(world_number(w, "startFailure/tries"), 1);
    CHECK_INT_EQ(w->status_writes, writes);
}

TEST(a_process_that_dies_while_it_gives_up_leaves_nothing)
{
    AUTO(world) struct world *w = stuck(ONE);

    w->others_wait = true;
    w->now_ms += WORLD_REQUEUE_MS;
    while (!pod(w, "job-worker-0")->deleting)
        CHECK(world_reconcile(w));
    world_crash(w);
    world_settle(w);
    for (int i = 0; i < 60 && !str_eq(world_said(w, "launcherStatus"), "Running"); i++)
        world_pass(w, AGAIN_MS);
    check_state(w, "Running", "Running", "Running");
}

TEST(a_pod_that_does_not_end_keeps_the_partition)
{
    AUTO(world) struct world *w = stuck(ONE);

    pod(w, "job-worker-0")->node_silent = true;
    w->others_wait = true;
    world_pass(w, WORLD_REQUEUE_MS);
    CHECK(pod(w, "job-worker-0")->deleting);
    CHECK_INT_EQ(w->partition_count, 1);
    world_pass(w, WORLD_HOLD_MS);
    world_pass(w, STILL_MS);
    CHECK(!world_partition(w, "p-job-ns-0"));
}
