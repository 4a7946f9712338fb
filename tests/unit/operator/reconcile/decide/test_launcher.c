/* Jobs with a launcher, told as stories in a small world. */
#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "lib/golden.h"
#include "scenario.h"
#include "world.h"

#define LAUNCHED(fields) SPEC("\"workersPerJobInstance\":2,\"launcher\":{\"command\":[\"mpirun\"]}," fields)
#define ONE_LAUNCHED LAUNCHED("\"jobInstances\":1,")
#define TWO_LAUNCHED LAUNCHED("\"jobInstances\":2,")
#define RESTARTED(policy) LAUNCHED("\"jobInstances\":1,\"restartPolicy\":" policy ",")
/* The operator's patience for a cause that shows late, and for a launcher that misses a worker. */
#define SHOWS_MS 5000
#define ENDS_MS 30000
/* A pod that does not start for so long may miss its keys. */
#define KEYS_MISSED_MS 20000

/* As far as the launcher can be. */
static struct world *with_one_unready(const char *spec)
{
    struct world *w = world_new(spec);

    w->unready = "job-worker-1";
    world_settle(w);
    return w;
}

static void make_ready(struct world *w)
{
    pod(w, w->unready)->is_unready = false;
    w->unready = NULL;
}

static bool has_keys(const struct world *w, const char *start)
{
    AUTO(mem) char *name = mem_printf("job-mpi-0a1b2c3d-%s", start);

    return strv_has(&w->secrets, name);
}

/* The operator was upgraded meanwhile. */
TEST(workers_of_another_version_are_started_again_before_the_launcher)
{
    AUTO(world) struct world *w = with_one_unready(ONE_LAUNCHED);
    const struct wpod *old = pod(w, "job-worker-0");

    w->launcher_image = "launcher:2";
    world_crash(w);
    world_reconcile(w);
    CHECK(old->stopped_ms && !world_pod(w, "job-launcher"));
    w->unready = NULL;
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
    CHECK(pod(w, "job-worker-0") != old);
    CHECK_STR_EQ(pod(w, "job-worker-0")->launcher_image, "launcher:2");
    CHECK_INT_EQ(world_number(w, "restartCount"), 0);

    w->launcher_image = "launcher:3"; /* what has started goes on */
    old = pod(w, "job-worker-0");
    world_crash(w);
    world_settle(w);
    CHECK(pod(w, "job-worker-0") == old && !old->stopped_ms);
    check_idle(w);
}

TEST(the_launcher_starts_when_all_workers_are_ready)
{
    AUTO(world) struct world *w = with_one_unready(ONE_LAUNCHED);

    CHECK(!world_pod(w, "job-launcher"));
    world_pass(w, MINUTE_MS); /* numbers alone wait so long */
    check_state(w, "Starting", "WaitingForWorkers",
                "Waiting for workers: 1 of 2 ready on partition p-job-ns-0");
    CHECK(has_keys(w, "0"));
    CHECK(w->has_policy);
    CHECK(!w->has_service);
    make_ready(w);
    world_settle(w);
    pod(w, "job-launcher");
    check_state(w, "Running", "Running", "Running");
    CHECK_INT_EQ(world_number(w, "workersStatus/active"), 2);
    check_idle(w);
}

TEST(its_end_is_the_jobs_whatever_the_workers_do)
{
    AUTO(world) struct world *w = running(ONE_LAUNCHED);

    world_pod_end(w, pod(w, "job-launcher"), 0);
    world_settle(w);
    check_completed(w);
    pod(w, "job-launcher"); /* and its log */
    check_log_is_kept(w, "job-worker-0");
    CHECK_INT_EQ(world_number(w, "workersStatus/failed"), 0);
    CHECK_INT_EQ(w->secrets.count, 0);
}

TEST(every_instance_has_a_launcher_of_its_own)
{
    AUTO(world) struct world *w = running(TWO_LAUNCHED);

    pod(w, "job-launcher");
    world_pod_end(w, pod(w, "job-launcher-1"), 0);
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "completedIndexes"), "1");
    CHECK_INT_EQ(w->partition_count, 1);
    pod(w, "job-worker-1");
    check_log_is_kept(w, "job-worker-2");
    world_pod_end(w, pod(w, "job-launcher"), 0);
    world_settle(w);
    check_completed(w);
}

TEST(a_launcher_that_fails_alone_is_named_when_no_worker_can_be)
{
    AUTO(world) struct world *w = running(ONE_LAUNCHED);

    world_pod_end(w, pod(w, "job-launcher"), 4);
    world_settle(w);
    check_state(w, "Running", "Finishing", "Launcher pod job-launcher failed");
    pod(w, "job-worker-0");
    world_pass(w, SHOWS_MS);
    check_state(w, "Failed", "ContainerFailed", "Container main of pod job-launcher exited with code 4");
    check_nothing_held(w);
}

#define HEARS_NOTHING "ipu-launch: worker job-worker-1 is lost: no data received for 15 s"

/* Its node has gone, which the cluster finds out minutes later. */
TEST(a_worker_that_the_launcher_lost_is_named_though_nothing_shows_it)
{
    AUTO(world) struct world *w = running(ONE_LAUNCHED);
    struct wpod *lost = pod(w, "job-worker-1");
    const cJSON *reported;

    lost->node_silent = true;
    pod(w, "job-launcher")->last_words = HEARS_NOTHING "\n--- mpirun gives up ---\n";
    world_pod_end(w, pod(w, "job-launcher"), 1);
    world_settle(w);
    check_state(w, "Running", "Finishing", "Launcher pod job-launcher failed");
    world_pass(w, SHOWS_MS);
    check_state(w, "Running", "WorkerLost",
                "Launcher pod job-launcher lost worker pod job-worker-1: no data received for 15 s");
    reported = json_at(w->status, "failures")->child;
    CHECK_STR_EQ(json_str(reported, "pod", ""), "job-worker-1");
    CHECK_STR_EQ(json_str(reported, "node", ""), lost->node);
    CHECK_HAS(json_str(reported, "message", ""), "mpirun gives up");
    CHECK(!json_at(reported, "exitCode"));
    CHECK_INT_EQ(w->partition_count, 1);
    world_pass(w, MINUTE_MS); /* its node did not end it */
    CHECK(lost->deleting);
    world_pass(w, WORLD_HOLD_MS - MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Failed");
    CHECK_STR_EQ(world_said(w, "reason"), "WorkerLost");
    CHECK_INT_EQ(w->partition_count, 0);
}

TEST(a_worker_that_shows_why_it_died_is_no_lost_one)
{
    AUTO(world) struct world *w = running(ONE_LAUNCHED);

    pod(w, "job-launcher")->last_words = HEARS_NOTHING;
    world_pod_end(w, pod(w, "job-launcher"), 1);
    world_settle(w);
    world_pod_end(w, pod(w, "job-worker-1"), 137);
    world_settle(w);
    check_state(w, "Failed", "ContainerFailed",
                "Container main of pod job-worker-1 was killed by SIGKILL (exit code 137)");
}

#define NO_MEMORY "ipu-launch: worker job-worker-1 ran out of memory: the kernel killed 1 process\n"
#define SAYS_KILLED                                                                                          \
    "mpirun noticed that process rank 1 with PID 7 on node job-worker-1 exited on signal 9 (Killed).\n"

/* The worker's agent runs on, until the operator stops it because of this failure; then its pod says nothing.
 */
TEST(a_worker_whose_rank_ran_out_of_memory_is_named)
{
    static const char says[] =
        "Worker pod job-worker-1 ran out of memory: the kernel killed 1 process; launcher "
        "pod job-launcher was killed by SIGKILL (exit code 137)";
    AUTO(world) struct world *w = running(ONE_LAUNCHED);
    const cJSON *reported;

    pod(w, "job-launcher")->last_words = SAYS_KILLED NO_MEMORY;
    world_pod_end(w, pod(w, "job-launcher"), 137);
    world_settle(w);
    world_pass(w, SHOWS_MS);
    check_state(w, "Failed", "OOMKilled", says);
    CHECK(strv_has(&w->event_reasons, "OOMKilled"));
    CHECK(!strv_has(&w->event_reasons, "ContainerFailed"));
    reported = json_at(w->status, "failures")->child;
    CHECK_STR_EQ(json_str(reported, "pod", ""), "job-worker-1");
    CHECK_STR_EQ(json_str(reported, "reason", ""), "OOMKilled");
    CHECK(json_str(reported, "node", NULL));
    CHECK(json_bool(reported, "outOfMemory", false));
    CHECK(!json_at(reported, "exitCode"));
    CHECK_HAS(json_str(reported, "message", ""), "exited on signal 9");
    check_nothing_held(w);
    check_idle(w);
}

TEST(whether_memory_that_ran_out_restarts_a_job_is_the_launchers_exit_code)
{
    AUTO(world) struct world *w = running(RESTARTED("{\"type\":\"ExitCode\",\"exitCodes\":\"137\"}"));

    pod(w, "job-launcher")->last_words = SAYS_KILLED NO_MEMORY;
    world_pod_end(w, pod(w, "job-launcher"), 137);
    world_settle(w);
    world_pass(w, SHOWS_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Restarting");
    CHECK_STR_EQ(json_str(json_at(w->status, "failures")->child, "reason", ""), "OOMKilled");
}

TEST(whether_a_lost_worker_restarts_its_job_is_the_launchers_exit_code)
{
    AUTO(world) struct world *w = running(RESTARTED("{\"type\":\"ExitCode\",\"exitCodes\":\"7\"}"));

    pod(w, "job-launcher")->last_words = HEARS_NOTHING;
    world_pod_end(w, pod(w, "job-launcher"), 7);
    world_settle(w);
    world_pass(w, SHOWS_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Restarting");
    CHECK_STR_EQ(json_str(json_at(w->status, "failures")->child, "reason", ""), "WorkerLost");
}

TEST(a_worker_is_named_before_the_launcher_that_misses_it)
{
    AUTO(world) struct world *w = running(ONE_LAUNCHED);

    world_pod_end(w, pod(w, "job-launcher"), 1);
    world_settle(w);
    world_pod_end(w, pod(w, "job-worker-1"), 137);
    world_settle(w);
    check_state(w, "Failed", "ContainerFailed",
                "Container main of pod job-worker-1 was killed by SIGKILL (exit code 137)");
    CHECK_STR_EQ(json_str(json_at(w->status, "failures")->child, "pod", ""), "job-worker-1");
    check_nothing_held(w);
}

TEST(a_launcher_that_has_lost_a_worker_may_end_by_itself)
{
    AUTO(world) struct world *w = running(ONE_LAUNCHED);

    world_pod_end(w, pod(w, "job-worker-1"), 137);
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK(!pod(w, "job-launcher")->deleting);
    world_pass(w, 1000);
    world_pod_end(w, pod(w, "job-launcher"), 1);
    world_settle(w);
    check_state(w, "Failed", "ContainerFailed",
                "Container main of pod job-worker-1 was killed by SIGKILL (exit code 137)");
    pod(w, "job-launcher"); /* and its log */
}

TEST(a_launcher_that_does_not_end_is_made_to)
{
    AUTO(world) struct world *w = running(ONE_LAUNCHED);

    world_pod_end(w, pod(w, "job-worker-0"), 3);
    world_settle(w);
    world_pass(w, ENDS_MS);
    check_state(w, "Failed", "ContainerFailed", "Container main of pod job-worker-0 exited with code 3");
    check_nothing_held(w);
}

TEST(a_worker_that_ends_before_its_launcher_has_failed)
{
    AUTO(world) struct world *w = running(ONE_LAUNCHED);

    world_pod_end(w, pod(w, "job-worker-0"), 0);
    world_pod_end(w, pod(w, "job-launcher"), 1);
    world_settle(w);
    check_state(w, "Failed", "WorkerEnded", "Worker pod job-worker-0 exited before its launcher");
}

TEST(a_restart_has_new_keys_and_is_judged_by_the_launchers_exit_code)
{
    AUTO(world) struct world *w = running(RESTARTED("{\"type\":\"ExitCode\",\"exitCodes\":\"7\"}"));

    world_pod_end(w, pod(w, "job-worker-1"), 137);
    world_pod_end(w, pod(w, "job-launcher"), 7);
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Restarting");
    world_pass(w, MINUTE_MS);
    check_state(w, "Running", "Running", "Running");
    CHECK_INT_EQ(world_number(w, "restartCount"), 1);
    CHECK(has_keys(w, "1"));
    CHECK(!has_keys(w, "0"));
    CHECK_STR_EQ(pod(w, "job-launcher")->partition, "p-job-ns-0");
    CHECK_INT_EQ(pod(w, "job-launcher")->run, 1);
    world_pod_end(w, pod(w, "job-launcher"), 8);
    world_settle(w);
    world_pass(w, SHOWS_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Failed");
}

TEST(always_restarts_a_launcher_that_ended_well_as_often_as_allowed)
{
    AUTO(world) struct world *w = running(RESTARTED("{\"type\":\"Always\",\"backOffLimit\":1}"));

    world_pod_end(w, pod(w, "job-launcher"), 0);
    world_settle(w);
    world_pass(w, MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_INT_EQ(world_number(w, "restartCount"), 1);
    world_pod_end(w, pod(w, "job-launcher"), 0);
    world_settle(w);
    check_completed(w);
}

TEST(a_changed_worker_ends_the_start_of_all)
{
    AUTO(world) struct world *w = running(ONE_LAUNCHED);

    world_pod_delete(w, pod(w, "job-worker-1"));
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
    CHECK_INT_EQ(world_number(w, "restartCount"), 0);
    CHECK_INT_EQ(pod(w, "job-launcher")->run, 1);
    CHECK_INT_EQ(pod(w, "job-worker-0")->run, 1);
    CHECK(has_keys(w, "1"));
}

TEST(a_deleted_launcher_comes_back_with_new_workers)
{
    AUTO(world) struct world *w = running(ONE_LAUNCHED);

    world_pod_delete(w, pod(w, "job-launcher"));
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
    CHECK_INT_EQ(pod(w, "job-worker-0")->run, 1);
}

TEST(a_lost_launcher_is_held_for_as_it_may_use_the_partition)
{
    AUTO(world) struct world *w = running(ONE_LAUNCHED);

    world_pod_vanish(w, pod(w, "job-launcher"), true);
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "reason"), "TerminationUnconfirmed");
    CHECK_HAS(world_said(w, "lastMessage"), "job-launcher");
    world_pass(w, WORLD_HOLD_MS);
    check_state(w, "Running", "Running", "Running");
    CHECK_STR_EQ(pod(w, "job-launcher")->partition, "p-job-0a1b2c3d4e-0-1");
    CHECK(has_keys(w, "1"));
}

/* Its keys may have gone while nobody watched; the workers wait for nobody else's. */
TEST(a_new_process_asks_for_the_keys_before_it_launches)
{
    AUTO(world) struct world *kept = with_one_unready(ONE_LAUNCHED);
    AUTO(world) struct world *lost = with_one_unready(ONE_LAUNCHED);

    world_crash(kept);
    make_ready(kept);
    world_settle(kept);
    CHECK_STR_EQ(world_said(kept, "launcherStatus"), "Running");
    CHECK_INT_EQ(pod(kept, "job-launcher")->run, 0);

    world_crash(lost);
    world_drop_secrets(lost);
    make_ready(lost);
    world_settle(lost);
    CHECK_STR_EQ(world_said(lost, "launcherStatus"), "Running");
    CHECK_INT_EQ(pod(lost, "job-launcher")->run, 1);
    CHECK(has_keys(lost, "1"));
}

TEST(keys_that_went_while_the_workers_started_are_made_again)
{
    AUTO(world) struct world *w = with_one_unready(ONE_LAUNCHED);

    world_drop_secrets(w);
    make_ready(w);
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
    CHECK_INT_EQ(pod(w, "job-launcher")->run, 1);
    CHECK(has_keys(w, "1"));
    CHECK_INT_EQ(w->secrets.count, 1);
}

static void wait_for_pod(struct world *w, const char *name)
{
    while (!world_pod(w, name))
        CHECK(world_advance(w));
}

static void check_missing_keys_are_made_anew(const char *waiting)
{
    AUTO(world) struct world *w = world_new(ONE_LAUNCHED);

    wait_for_pod(w, waiting);
    world_drop_secrets(w);
    world_settle(w);
    world_pass(w, 1000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Starting");
    CHECK_INT_EQ(w->secrets.count, 0);
    world_pass(w, KEYS_MISSED_MS);
    check_state(w, "Running", "Running", "Running");
    CHECK(strv_has(&w->event_reasons, "SecretDeleted"));
    CHECK_INT_EQ(pod(w, "job-launcher")->run, 1);
    CHECK_INT_EQ(w->secrets.count, 1);
    CHECK_INT_EQ(world_number(w, "restartCount"), 0);
}

/* Its kubelet waits for the Secret, and tells nobody but in events. */
TEST(keys_that_a_pod_waits_for_are_missed)
{
    check_missing_keys_are_made_anew("job-worker-1");
    check_missing_keys_are_made_anew("job-launcher");
}

TEST(a_pod_that_starts_slowly_is_asked_about_now_and_then)
{
    AUTO(world) struct world *w = world_new(ONE_LAUNCHED);

    wait_for_pod(w, "job-worker-1");
    pod(w, "job-worker-1")->is_slow = true;
    world_settle(w);
    world_pass(w, KEYS_MISSED_MS);
    world_pass(w, KEYS_MISSED_MS);
    pod(w, "job-worker-1")->is_slow = false;
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_INT_EQ(pod(w, "job-launcher")->run, 0);
}

TEST(a_launcher_that_starts_slowly_is_reported)
{
    AUTO(world) struct world *w = world_new(ONE_LAUNCHED);

    wait_for_pod(w, "job-launcher");
    pod(w, "job-launcher")->is_slow = true;
    world_settle(w);
    check_state(w, "Starting", "StartingLauncher", "Launcher pod job-launcher is starting");
    pod(w, "job-launcher")->is_slow = false;
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
}

/* Between the note and the pod: whether it was made, nobody knows. */
TEST(a_launcher_that_was_noted_and_never_seen_is_held_for)
{
    AUTO(world) struct world *w = with_one_unready(ONE_LAUNCHED);

    make_ready(w);
    while (!str_eq(json_str(world_record(w, "p-job-ns-0"), "data/launched", ""), "true"))
        CHECK(world_reconcile(w));
    CHECK(!world_pod(w, "job-launcher"));
    world_crash(w);
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "reason"), "TerminationUnconfirmed");
    world_pass(w, WORLD_HOLD_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}

TEST(a_rejected_launcher_pod_is_tried_again)
{
    AUTO(world) struct world *w = with_one_unready(ONE_LAUNCHED);

    make_ready(w);
    w->rejection = "exceeded quota";
    world_settle(w);
    w->rejection = NULL;
    world_pass(w, 10000);
    check_state(w, "Running", "Running", "Running");
}

TEST(the_clean_pod_policy_keeps_whom_it_names)
{
    static const struct {
        const char *policy;
        bool launcher, worker;
    } rows[] = {{"\"None\"", true, true}, {"\"Workers\"", true, false}, {"\"All\"", false, false}};

    CHECK_ROWS (row, rows) {
        AUTO(world) struct world *w = running(ONE_LAUNCHED);

        world_set_spec(w, "cleanPodPolicy", row->policy);
        world_pod_end(w, pod(w, "job-worker-0"), 3);
        world_pod_end(w, pod(w, "job-launcher"), 1);
        world_settle(w);
        CHECK_STR_EQ(world_said(w, "launcherStatus"), "Failed");
        CHECK_INT_EQ(world_pod(w, "job-launcher") != NULL, row->launcher);
        CHECK_INT_EQ(world_pod(w, "job-worker-0") != NULL, row->worker);
        check_nothing_held(w);
    }
}

TEST(a_suspended_job_keeps_no_keys_and_runs_again)
{
    AUTO(world) struct world *w = running(ONE_LAUNCHED);

    world_set_spec(w, "suspend", "true");
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Suspended");
    CHECK_INT_EQ(w->secrets.count, 0);
    world_set_spec(w, "suspend", "false");
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
}

#define WITH_IMAGE(image)                                                                                    \
    "{\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"" image "\"}]}}}"

/* Its ranks run together or not at all: nothing is replaced while it runs. */
TEST(a_changed_template_waits_for_the_next_start)
{
    static const char says[] =
        "Running; the pod template has changed: suspend and resume the job to apply it";
    AUTO(world) struct world *w = running(ONE_LAUNCHED);
    struct wpod *worker = pod(w, "job-worker-0");
    uint64_t revision = worker->revision;

    world_set_spec(w, "workers", WITH_IMAGE("train:2"));
    world_settle(w);
    check_state(w, "Running", "Running", says);
    CHECK(pod(w, "job-worker-0") == worker);
    check_idle(w);
    world_set_spec(w, "suspend", "true");
    world_settle(w);
    world_set_spec(w, "suspend", "false");
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
    CHECK(pod(w, "job-worker-0")->revision != revision);
}

TEST(a_restart_after_a_failure_uses_the_changed_template)
{
    AUTO(world) struct world *w = running(RESTARTED("{\"type\":\"OnFailure\"}"));
    uint64_t revision = pod(w, "job-worker-0")->revision;

    world_set_spec(w, "workers", WITH_IMAGE("train:2"));
    world_settle(w);
    end_all(w, 1);
    world_pass(w, MINUTE_MS);
    check_state(w, "Running", "Running", "Running");
    CHECK(pod(w, "job-worker-0")->revision != revision);
}

TEST(the_plans_of_a_launch_are_as_reviewed)
{
    AUTO(world) struct world *w = world_new(ONE_LAUNCHED);
    AUTO(str) struct str plans = {0};

    w->plans = &plans;
    world_settle(w);
    world_pass(w, MINUTE_MS);
    world_pod_end(w, pod(w, "job-launcher"), 0);
    world_settle(w);
    golden_check("plans/launch.txt", str_text(&plans));
}
