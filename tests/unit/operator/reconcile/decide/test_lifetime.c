/* The clocks of a job, in a small world. */
#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "lib/check.h"
#include "operator/reconcile/decide/lifetime.h"
#include "scenario.h"

#define LIMITED(fields) SPEC("\"jobInstances\":1," fields ",")

/* ---- what it means for the IPUs ---- */

TEST(a_job_releases_its_ipus_when_its_pods_have_stopped)
{
    static const struct {
        uint32_t limit_s, grace_s;
        int64_t bound_s;
    } rows[] = {
        {0, 30, 0},
        {3600, 30, 3690},
        {600, 0, 660},
        {UINT32_MAX, INT32_MAX, (int64_t)UINT32_MAX + INT32_MAX + 60},
    };

    CHECK_ROWS (row, rows)
        CHECK_INT_EQ(lifetime_bound_s(row->limit_s, row->grace_s), row->bound_s);
}

/* ---- activeDeadlineSeconds ---- */

TEST(a_job_that_runs_too_long_fails_and_gives_its_ipus_back)
{
    AUTO(world) struct world *w = running(LIMITED("\"activeDeadlineSeconds\":60"));

    CHECK_INT_EQ(w->again_at_ms, w->now_ms + MINUTE_MS);
    world_pass(w, MINUTE_MS - 1000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    world_pass(w, 1000);
    check_state(w, "Failed", "DeadlineExceeded", "Stopped after 60 s: spec.activeDeadlineSeconds exceeded");
    CHECK_INT_EQ(world_number(w, "currentReplicas"), 0);
    CHECK_STR_EQ(world_said(w, "failedIndexes"), "0");
    check_log_is_kept(w, "job-worker-0");
    check_nothing_held(w);
    check_idle(w);
}

TEST(restarts_do_not_stop_the_clock)
{
    AUTO(world)
    struct world *w =
        running(LIMITED("\"activeDeadlineSeconds\":60,\"restartPolicy\":{\"type\":\"OnFailure\"}"));

    end_all(w, 1);
    world_pass(w, 10000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    world_pass(w, 50000);
    CHECK_STR_EQ(world_said(w, "reason"), "DeadlineExceeded");
}

TEST(waiting_for_ipus_does_not_count)
{
    AUTO(world) struct world *w = world_new(LIMITED("\"activeDeadlineSeconds\":60"));

    w->no_grants = true;
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "startTime"), "");
    world_pass(w, 10 * MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Pending");
    w->no_grants = false;
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    world_pass(w, MINUTE_MS - 1000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    world_pass(w, 1000);
    CHECK_STR_EQ(world_said(w, "reason"), "DeadlineExceeded");
}

TEST(the_clock_does_not_run_while_suspended_and_starts_again)
{
    AUTO(world) struct world *w = running(LIMITED("\"activeDeadlineSeconds\":60"));

    world_pass(w, 50000);
    world_set_spec(w, "suspend", "true");
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "startTime"), "");
    world_pass(w, 10 * MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Suspended");
    world_set_spec(w, "suspend", "false");
    world_settle(w);
    world_pass(w, MINUTE_MS - 1000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    world_pass(w, 1000);
    CHECK_STR_EQ(world_said(w, "reason"), "DeadlineExceeded");
}

/* Else who is let past others by a limit could begin it again and again. */
TEST(the_clock_runs_on_when_a_job_is_resumed_before_its_ipus_are_released)
{
    AUTO(world) struct world *w = running(LIMITED("\"activeDeadlineSeconds\":60"));
    AUTO(mem) char *began = mem_strdup(world_said(w, "startTime"));
    struct wpod *old = pod(w, "job-worker-0");

    world_pass(w, 50000);
    world_set_spec(w, "suspend", "true");
    world_reconcile(w);
    CHECK(old->stopped_ms);
    check_state(w, "Suspended", "Suspended", "Suspending: waiting for pods of instance 0 to terminate");
    CHECK_STR_EQ(world_said(w, "startTime"), began);
    world_set_spec(w, "suspend", "false");
    world_reconcile(w);
    world_pod_obey(w, old, 143);
    world_settle(w);
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-ns-0");
    world_pass(w, 9000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    world_pass(w, 1000);
    CHECK_STR_EQ(world_said(w, "reason"), "DeadlineExceeded");
}

TEST(a_job_that_ends_in_its_last_second_has_ended_well)
{
    AUTO(world) struct world *w = running(LIMITED("\"activeDeadlineSeconds\":60"));

    world_pod_end(w, pod(w, "job-worker-0"), 0);
    world_pass(w, MINUTE_MS);
    check_completed(w);
}

TEST(the_clock_survives_the_operator)
{
    AUTO(world) struct world *w = running(LIMITED("\"activeDeadlineSeconds\":60"));

    world_pass(w, 30000);
    world_crash(w);
    world_pass(w, 30000);
    CHECK_STR_EQ(world_said(w, "reason"), "DeadlineExceeded");
    check_nothing_held(w);
}

TEST(instances_that_were_done_before_the_deadline_stay_done)
{
    AUTO(world) struct world *w = running(SPEC("\"jobInstances\":2,\"activeDeadlineSeconds\":60,"));

    world_pod_end(w, pod(w, "job-worker-1"), 0);
    world_pass(w, MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "reason"), "DeadlineExceeded");
    CHECK_STR_EQ(world_said(w, "completedIndexes"), "1");
    CHECK_STR_EQ(world_said(w, "failedIndexes"), "0");
    CHECK(world_pod(w, "job-worker-1"));
}

/* ---- a limit with which the job has got IPUs ---- */

static struct world *limited(const char *fields)
{
    AUTO(mem) char *spec = mem_printf(SPEC("\"jobInstances\":1,%s,"), fields);
    struct world *w = world_new(spec);

    w->keeps_limits = true;
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    return w;
}

/* Webhooks reject such a change, but they may be off, or late. */
TEST(a_limit_that_is_raised_while_the_job_has_ipus_still_ends_it)
{
    static const struct {
        const char *fields, *field, *value;
    } rows[] = {
        {"\"activeDeadlineSeconds\":60", "activeDeadlineSeconds", "2000000000"},
        {"\"activeDeadlineSeconds\":60", "activeDeadlineSeconds", "null"},
        {"\"activeDeadlineSeconds\":6000,\"interactive\":{\"ttl\":60}", "interactive", "{\"ttl\":3000}"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(world) struct world *w = limited(row->fields);

        world_set_spec(w, row->field, row->value);
        world_crash(w);
        world_settle(w);
        check_state(
            w, "Running", "Running",
            "Running; its limit was raised while it has IPUs, and it still ends after 60 s: other jobs "
            "may be promised them; suspend and resume the job to apply it");
        world_pass(w, MINUTE_MS - 1000);
        CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
        world_pass(w, 1000);
        check_state(
            w, "Failed", "DeadlineExceeded",
            "Stopped after 60 s: the job got its IPUs for that time, and its limit was raised afterwards; "
            "suspend a job before you raise its limit");
        check_nothing_held(w);
    }
}

TEST(a_limit_that_is_lowered_counts_at_once)
{
    AUTO(world) struct world *w = limited("\"activeDeadlineSeconds\":600");

    world_set_spec(w, "activeDeadlineSeconds", "60");
    world_pass(w, MINUTE_MS);
    check_state(w, "Failed", "DeadlineExceeded", "Stopped after 60 s: spec.activeDeadlineSeconds exceeded");
}

TEST(a_limit_that_is_raised_while_suspended_counts)
{
    AUTO(world) struct world *w = limited("\"activeDeadlineSeconds\":60");

    world_set_spec(w, "suspend", "true");
    world_settle(w);
    world_set_spec(w, "activeDeadlineSeconds", "600");
    world_set_spec(w, "suspend", "false");
    world_settle(w);
    world_pass(w, 9 * MINUTE_MS);
    check_state(w, "Running", "Running", "Running");
    world_pass(w, MINUTE_MS);
    check_state(w, "Failed", "DeadlineExceeded", "Stopped after 600 s: spec.activeDeadlineSeconds exceeded");
}

/* ---- startDeadlineSeconds ---- */

static void be_stuck(struct world *w, const char *in)
{
    struct wpod *stuck = pod(w, "job-worker-0");

    stuck->report = REPORT_WAITING;
    stuck->process = false;
    stuck->waits_in = in;
    stuck->node_silent = true;
}

TEST(pods_that_are_stuck_too_long_fail_the_job)
{
    AUTO(world) struct world *w = running(LIMITED("\"startDeadlineSeconds\":30"));

    be_stuck(w, "ImagePullBackOff");
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "reason"), "ImagePullFailed");
    CHECK(*world_said(w, "stuckSince"));
    world_pass(w, 29000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Starting");
    pod(w, "job-worker-0")->node_silent = false; /* it can still be told to go */
    w->now_ms += 1000;
    world_reconcile(w);
    check_state(w, "Failed", "StartDeadlineExceeded",
                "Pods did not start within 30 s (spec.startDeadlineSeconds): Pod job-worker-0 is waiting: "
                "ImagePullBackOff: ImagePullBackOff");
    world_settle(w);
    check_nothing_held(w);
    CHECK_STR_EQ(world_said(w, "stuckSince"), "");
}

TEST(the_clock_of_stuck_pods_stops_when_they_start)
{
    AUTO(world) struct world *w = running(LIMITED("\"startDeadlineSeconds\":30"));

    be_stuck(w, "ErrImagePull");
    world_pass(w, 20000);
    pod(w, "job-worker-0")->node_silent = false;
    pod(w, "job-worker-0")->waits_in = NULL;
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_STR_EQ(world_said(w, "stuckSince"), "");
    world_pass(w, 10 * MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}

TEST(a_slow_start_is_not_stuck)
{
    AUTO(world) struct world *w = running(LIMITED("\"startDeadlineSeconds\":30"));

    be_stuck(w, "ContainerCreating");
    world_pass(w, 10 * MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Starting");
    CHECK_STR_EQ(world_said(w, "stuckSince"), "");
}

#define WITH_VOLUMES                                                                                         \
    "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\",\"startDeadlineSeconds\":30,\"workers\":{"             \
    "\"template\":{"                                                                                         \
    "\"spec\":{\"containers\":[{\"name\":\"main\"}],\"volumes\":[{\"name\":\"data\",\"secret\":{"            \
    "\"secretName\":\"token\"}},{\"name\":\"cache\",\"emptyDir\":{}}]}}}}"

/* A missing Secret of the user's own: its kubelet tells nobody but in events. */
TEST(pods_that_their_node_cannot_prepare_are_stuck)
{
    static const char says[] =
        "Pod job-worker-0 is waiting: volumes or network not ready on node node-of-pod-1 after 20 s; "
        "check that these exist: Secret token (kubectl describe pod -n ns "
        "job-worker-0)";
    AUTO(world) struct world *w = running(WITH_VOLUMES);
    struct wpod *stuck = pod(w, "job-worker-0");

    be_stuck(w, "ContainerCreating");
    stuck->sandbox_not_ready = true;
    world_settle(w);
    world_pass(w, 1000);
    CHECK_STR_EQ(world_said(w, "reason"), "StartingPods");
    world_pass(w, 18000);
    CHECK_STR_EQ(world_said(w, "reason"), "StartingPods");
    world_pass(w, 1000);
    check_state(w, "Starting", "PodSandboxNotReady", says);
    CHECK(strv_has(&w->event_reasons, "PodSandboxNotReady"));
    world_pass(w, 40000); /* from now on it is stuck */
    stuck->node_silent = false;
    w->now_ms += 29000;
    world_reconcile(w);
    check_state(w, "Starting", "PodSandboxNotReady", says);
    w->now_ms += 1000;
    world_reconcile(w);
    CHECK_STR_EQ(world_said(w, "reason"), "StartDeadlineExceeded");
    CHECK_HAS(world_said(w, "lastMessage"), "check that these exist: Secret token");
    world_settle(w);
    check_nothing_held(w);
}

/* Whose template names nothing that may be missing. */
TEST(pods_whose_network_does_not_come_are_stuck_after_a_minute)
{
    AUTO(world) struct world *w = running(LIMITED("\"startDeadlineSeconds\":30"));

    be_stuck(w, "ContainerCreating");
    pod(w, "job-worker-0")->sandbox_not_ready = true;
    world_settle(w);
    world_pass(w, MINUTE_MS - 1000);
    CHECK_STR_EQ(world_said(w, "reason"), "StartingPods");
    world_pass(w, 1000);
    check_state(w, "Starting", "PodSandboxNotReady",
                "Pod job-worker-0 is waiting: volumes or network not ready on node node-of-pod-1 after 60 s "
                "(kubectl describe pod -n ns job-worker-0)");
}

/* It may load data for hours: no deadline of the start counts it. */
TEST(an_init_container_that_runs_long_is_named)
{
    AUTO(world) struct world *w = running(LIMITED("\"startDeadlineSeconds\":30"));
    struct wpod *slow = pod(w, "job-worker-0");

    be_stuck(w, "PodInitializing");
    slow->running_init = true;
    world_settle(w);
    world_pass(w, MINUTE_MS - 1000);
    CHECK_STR_EQ(world_said(w, "reason"), "StartingPods");
    world_pass(w, 2000);
    check_state(w, "Starting", "PodWaiting",
                "Pod job-worker-0 is waiting: init container wait still runs after 60 s (kubectl logs -n ns "
                "job-worker-0 -c wait)");
    world_pass(w, 10 * MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "reason"), "PodWaiting");
    CHECK_STR_EQ(world_said(w, "stuckSince"), "");
}

TEST(pods_that_the_api_server_does_not_take_are_stuck)
{
    AUTO(world) struct world *w = world_new(LIMITED("\"startDeadlineSeconds\":30"));

    w->rejection = "exceeded quota: none";
    world_settle(w);
    world_pass(w, 1000); /* told when it lasts */
    CHECK_STR_EQ(world_said(w, "reason"), "FailedCreate");
    for (int i = 0; i < 3; i++)
        world_pass(w, 10000);
    CHECK_STR_EQ(world_said(w, "reason"), "StartDeadlineExceeded");
    CHECK_HAS(world_said(w, "lastMessage"), "exceeded quota: none");
    check_nothing_held(w);
}

TEST(a_template_that_is_forbidden_is_stuck_without_ipus)
{
    AUTO(world) struct world *w = world_new(LIMITED("\"startDeadlineSeconds\":30"));

    w->dry_run_answer = DRY_RUN_REJECTED;
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "reason"), "QuotaExceeded");
    world_pass(w, 30000);
    CHECK_STR_EQ(world_said(w, "reason"), "StartDeadlineExceeded");
}

TEST(waiting_for_ipus_is_not_being_stuck)
{
    AUTO(world) struct world *w = world_new(LIMITED("\"startDeadlineSeconds\":30"));

    w->no_grants = true;
    world_settle(w);
    world_pass(w, 10 * MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Pending");
}

TEST(a_scheduling_gate_is_not_being_stuck)
{
    AUTO(world) struct world *w = running(LIMITED("\"startDeadlineSeconds\":30"));
    struct wpod *gated = pod(w, "job-worker-0");

    mem_set_str(&gated->node, NULL);
    gated->report = REPORT_NOTHING;
    gated->process = false;
    gated->node_silent = true;
    gated->waits_for = "gated";
    gated->is_gated = true;
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "reason"), "SchedulingGated");
    world_pass(w, 10 * MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Starting");
}

/* ---- interactive.ttl ---- */

/* The status says when the job ends, from the first moment on that this is known. */
static void check_ends_after(const struct world *w, int64_t seconds)
{
    int64_t start_s = 0, end_s = 0;

    CHECK(timefmt_parse_rfc3339(world_said(w, "startTime"), &start_s));
    CHECK(timefmt_parse_rfc3339(world_said(w, "endTime"), &end_s));
    CHECK_INT_EQ(end_s - start_s, seconds);
}

TEST(the_time_of_an_interactive_job_ends_it_well)
{
    AUTO(world) struct world *w = running(LIMITED("\"interactive\":{\"ttl\":60}"));

    world_pass(w, MINUTE_MS - 1000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    check_ends_after(w, 60);
    world_pass(w, 1000);
    check_state(w, "Completed", "InteractiveTTLExpired", "All instances done");
    CHECK_STR_EQ(world_said(w, "endTime"), "");
    CHECK_INT_EQ(world_number(w, "currentReplicas"), 0);
    CHECK_STR_EQ(world_said(w, "completedIndexes"), "0");
    check_log_is_kept(w, "job-worker-0");
    check_nothing_held(w);
    check_idle(w);
}

TEST(the_time_of_an_interactive_job_begins_with_its_ipus)
{
    AUTO(world) struct world *w = world_new(LIMITED("\"interactive\":{\"ttl\":60}"));

    w->no_grants = true;
    world_settle(w);
    world_pass(w, 10 * MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "endTime"), "");
    w->no_grants = false;
    world_settle(w);
    check_ends_after(w, 60);
    world_pass(w, MINUTE_MS - 1000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}

TEST(a_changed_time_of_an_interactive_job_moves_its_end)
{
    AUTO(world) struct world *w = running(LIMITED("\"interactive\":{\"ttl\":60}"));

    world_set_spec(w, "interactive", "{\"ttl\":600}");
    world_settle(w);
    check_ends_after(w, 600);
}

/* ---- ttlSecondsAfterFinished ---- */

TEST(a_finished_job_goes_when_it_was_kept_long_enough)
{
    static const int codes[] = {0, 1};

    CHECK_ROWS (code, codes) {
        AUTO(world) struct world *w = running(LIMITED("\"ttlSecondsAfterFinished\":100"));

        end_all(w, *code);
        CHECK_INT_EQ(w->again_at_ms, w->now_ms + 100000);
        world_pass(w, 99000);
        CHECK(w->exists);
        world_pass(w, 1000);
        CHECK(!w->exists);
        CHECK_INT_EQ(w->partition_count, 0);
    }
}

TEST(zero_seconds_are_none)
{
    AUTO(world) struct world *w = running(LIMITED("\"ttlSecondsAfterFinished\":0"));

    end_all(w, 0);
    CHECK(!w->exists);
    CHECK_INT_EQ(w->partition_count, 0);
    CHECK_INT_EQ(w->record_count, 0);
}

TEST(a_change_that_comes_after_the_end_is_reported_once_and_changes_nothing)
{
    AUTO(world) struct world *w = running(LIMITED("\"suspend\":false"));

    end_all(w, 0);
    check_completed(w);
    CHECK(!strv_has(&w->event_reasons, "UpdateIgnored"));
    world_set_spec(w, "suspend", "true");
    world_settle(w);
    CHECK(strv_has(&w->event_reasons, "UpdateIgnored"));
    check_completed(w);
    CHECK_INT_EQ(world_number(w, "observedGeneration"), 2);
    check_idle(w);
}

TEST(a_finished_job_can_be_given_another_time)
{
    AUTO(world) struct world *longer = running(LIMITED("\"ttlSecondsAfterFinished\":100"));
    AUTO(world) struct world *late = running(ONE);

    end_all(longer, 0);
    world_set_spec(longer, "ttlSecondsAfterFinished", "1000");
    world_pass(longer, 500000);
    CHECK(longer->exists);
    world_set_spec(longer, "ttlSecondsAfterFinished", "400");
    world_settle(longer);
    CHECK(!longer->exists);
    end_all(late, 0);
    world_pass(late, 10 * MINUTE_MS);
    CHECK(late->exists);
    world_set_spec(late, "ttlSecondsAfterFinished", "60");
    world_settle(late);
    CHECK(!late->exists);
}

TEST(a_suspended_job_is_kept)
{
    AUTO(world) struct world *w = world_new(LIMITED("\"ttlSecondsAfterFinished\":0,\"suspend\":true"));

    world_settle(w);
    world_pass(w, 10 * MINUTE_MS);
    CHECK(w->exists);
}
