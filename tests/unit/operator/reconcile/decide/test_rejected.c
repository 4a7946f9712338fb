/* Jobs whose pods the API server takes in part, or not at all. */
#include "scenario.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/reconcile/decide/instance/instance_result.h"

#define QUOTA "exceeded quota: team"
#define REPORTED_AFTER_MS 1000 /* what is over at once is not told */
#define AGAIN_MS 10000

static struct world *with_quota(const char *spec, uint32_t quota)
{
    struct world *w = world_new(spec);

    w->rejection = QUOTA;
    w->quota = quota;
    world_settle(w);
    world_pass(w, REPORTED_AFTER_MS);
    return w;
}

static uint32_t pods_alive(const struct world *w)
{
    uint32_t count = 0;

    for (size_t i = 0; i < w->pod_count; i++)
        count += w->pods[i]->exists && w->pods[i]->report != REPORT_ENDED;
    return count;
}

static void check_backs_off(struct world *w)
{
    check_state(w, "Pending", "FailedCreate",
                "Instance 0 could not start; IPUs released until the next try: " QUOTA);
    CHECK_INT_EQ(pods_alive(w), 0);
    CHECK_INT_EQ(w->partition_count, 0);
    CHECK_INT_EQ(world_held(w), 0);
    check_idle(w);
}

TEST(an_instance_that_cannot_be_whole_holds_no_ipus)
{
    AUTO(world) struct world *w = with_quota(TWO_WORKERS, 1);

    CHECK_INT_EQ(w->pod_count, 1); /* one of the two was there for a while */
    check_backs_off(w);
    w->quota = 2;
    world_pass(w, AGAIN_MS - REPORTED_AFTER_MS - 1);
    CHECK_INT_EQ(pods_alive(w), 0);
    world_pass(w, 1);
    check_state(w, "Running", "Running", "Running");
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-ns-0");
    CHECK_INT_EQ(world_number(w, "restartCount"), 0);
    end_all(w, 0);
    check_completed(w);
}

TEST(an_instance_that_exceeds_a_quota_says_how_many_pods_it_needs)
{
    struct job job = {.spec = {.workers_per_instance = 3, .has_launcher = true}};
    const struct job_view view = {.job = &job, .create_reason = "QuotaExceeded", .create_text = QUOTA};
    struct instance_result result = {0};
    struct plan plan = {0};

    instance_set_rejected(&view, &(struct instance_view){0}, INSTANCE_WAITING, &plan, &result);
    CHECK_HAS(result.text, QUOTA "; an instance needs 4 pods at the same time");
    job.spec = (struct job_spec){.workers_per_instance = 1};
    instance_set_rejected(&view, &(struct instance_view){0}, INSTANCE_WAITING, &plan, &result);
    CHECK_HAS(result.text, ": " QUOTA);
    CHECK(!strstr(result.text, "needs"));
    mem_free(result.text);
    plan_release(&plan);
}

TEST(each_try_that_fails_leaves_nothing)
{
    AUTO(world) struct world *w = with_quota(TWO_WORKERS, 1);

    for (uint32_t tries = 1; tries < 5; tries++) {
        CHECK_INT_EQ(w->pod_count, tries);
        check_backs_off(w);
        world_pass(w, AGAIN_MS);
    }
}

/* It has learned it from the API server, which tells it only with the next try. */
TEST(a_new_process_knows_why_the_api_server_rejected_the_pods)
{
    AUTO(world) struct world *w = with_quota(TWO_WORKERS, 1);
    unsigned writes;

    check_backs_off(w);
    CHECK_STR_EQ(world_said(w, "startFailure/reason"), "FailedCreate");
    CHECK_STR_EQ(world_said(w, "startFailure/message"), QUOTA);
    CHECK_INT_EQ(world_number(w, "startFailure/tries"), 0);
    w->no_grants = true;
    w->rejection = NULL;
    world_crash(w);
    world_settle(w);
    world_pass(w, AGAIN_MS);
    check_state(w, "Pending", "InsufficientIPUs", "Waiting for IPUs; the last start failed: " QUOTA);
    writes = w->status_writes;
    world_pass(w, AGAIN_MS);
    CHECK_INT_EQ(w->status_writes, writes);

    w->no_grants = false;
    world_pass(w, AGAIN_MS);
    check_state(w, "Running", "Running", "Running");
    CHECK_STR_EQ(world_said(w, "startFailure/reason"), "");
}

TEST(its_other_instances_run_on)
{
    AUTO(world) struct world *w = with_quota(TWO_BY_TWO, 3);

    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_STR_EQ(world_said(w, "reason"), "FailedCreate");
    CHECK_HAS(world_said(w, "lastMessage"), "1 of 2 instances running, 0 done; ");
    CHECK_INT_EQ(pods_alive(w), 2);
    CHECK_INT_EQ(w->partition_count, 1);
    w->quota = 4;
    world_pass(w, AGAIN_MS);
    CHECK_STR_EQ(world_said(w, "lastMessage"), "2 of 2 instances running, 0 done");
}

TEST(a_changed_quota_is_found_by_a_restart_too)
{
    AUTO(world)
    struct world *w = running(SPEC("\"jobInstances\":1,\"workersPerJobInstance\":2,"
                                   "\"restartPolicy\":{\"type\":\"OnFailure\",\"backOffLimit\":1},"));

    w->rejection = QUOTA;
    w->quota = 1;
    world_pod_end(w, pod(w, "job-worker-0"), 1);
    world_settle(w);
    world_pass(w, AGAIN_MS);
    world_pass(w, REPORTED_AFTER_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Pending");
    CHECK_INT_EQ(w->partition_count, 0);
    w->rejection = NULL;
    world_pass(w, AGAIN_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_INT_EQ(world_number(w, "restartCount"), 1);
    end_all(w, 1); /* that it was restarted once is not forgotten */
    CHECK_STR_EQ(world_said(w, "reason"), "BackoffLimitExceeded");
    check_nothing_held(w);
}

/* Its workers are the larger part of it. */
TEST(workers_do_not_wait_for_a_launcher_that_is_rejected)
{
    AUTO(world)
    struct world *w = with_quota(SPEC("\"jobInstances\":1,\"workersPerJobInstance\":2,"
                                      "\"launcher\":{\"command\":[\"mpirun\",\"true\"]},"),
                                 2);

    CHECK_INT_EQ(w->pod_count, 2);
    check_backs_off(w);
    CHECK_INT_EQ(w->secrets.count, 0);
    w->quota = 3;
    world_pass(w, AGAIN_MS);
    check_state(w, "Running", "Running", "Running");
}

TEST(a_process_that_dies_while_it_takes_back_leaves_nothing)
{
    AUTO(world) struct world *w = world_new(TWO_WORKERS);

    w->rejection = QUOTA;
    w->quota = 1;
    while (!world_pod(w, "job-worker-0"))
        CHECK(world_advance(w));
    world_reconcile(w);
    CHECK(pod(w, "job-worker-0")->deleting);
    world_crash(w);
    world_settle(w);
    for (int i = 0; i < 20 && !str_eq(world_said(w, "launcherStatus"), "Pending"); i++)
        world_pass(w, AGAIN_MS);
    CHECK_INT_EQ(pods_alive(w), 0);
    CHECK_INT_EQ(w->partition_count, 0);
}

TEST(a_pod_that_does_not_end_keeps_its_partition)
{
    AUTO(world) struct world *w = world_new(TWO_WORKERS);

    w->rejection = QUOTA;
    w->quota = 1;
    while (!world_pod(w, "job-worker-0") || !pod(w, "job-worker-0")->node)
        CHECK(world_advance(w));
    pod(w, "job-worker-0")->node_silent = true;
    world_pass(w, REPORTED_AFTER_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Starting");
    CHECK_INT_EQ(w->partition_count, 1);
    world_pass(w, WORLD_HOLD_MS);
    world_pass(w, REPORTED_AFTER_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Pending");
    CHECK_INT_EQ(w->partition_count, 0);
}

/* The request for it arrives a second time, after its IPUs have been given back. */
TEST(an_id_is_kept_from_use_when_a_pod_of_it_comes_again)
{
    AUTO(world) struct world *w = world_new(TWO_WORKERS);
    struct wpod *again;

    w->rejection = QUOTA;
    w->quota = 1;
    while (w->pod_count == 0 || w->partition_count > 0)
        CHECK(world_advance(w));
    CHECK_INT_EQ(w->record_count, 1);
    again = w->pods[0];
    CHECK(!again->exists);
    again->exists = true;
    again->deleting = false;
    again->node_silent = true;
    mem_set_str(&again->node, NULL);
    world_pod_schedule(w, again);
    world_pod_run(w, again, true);
    world_settle(w);
    CHECK(json_at(w->records[0], "data/spentAt"));
    CHECK_STR_EQ(json_str(w->records[0], "data/reason", ""), "TerminationUnconfirmed");
    w->quota = 2;
    world_pass(w, MINUTE_MS);
    world_pass(w, 5 * MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-0a1b2c3d4e-0-1");
    CHECK(world_record(w, "p-job-ns-0"));
}

TEST(tries_count_as_one_time_of_being_stuck)
{
    AUTO(world)
    struct world *w =
        with_quota(SPEC("\"jobInstances\":1,\"workersPerJobInstance\":2,\"startDeadlineSeconds\":60,"), 1);
    AUTO(mem) char *since = mem_strdup(world_said(w, "stuckSince"));

    CHECK(*since);
    for (int i = 0; i < 5; i++) {
        world_pass(w, AGAIN_MS);
        CHECK_STR_EQ(world_said(w, "stuckSince"), since);
    }
    world_pass(w, AGAIN_MS);
    CHECK_STR_EQ(world_said(w, "reason"), "StartDeadlineExceeded");
    CHECK_HAS(world_said(w, "lastMessage"), QUOTA);
    check_nothing_held(w);
}

#define GOES "unable to create new content in namespace ns because it is being terminated"

TEST(a_job_in_a_namespace_that_is_being_deleted_waits_without_ipus_and_goes)
{
    AUTO(world) struct world *w = world_new(ONE);

    w->dry_run_answer = DRY_RUN_REJECTED;
    w->forbidden_as = "NamespaceTerminating";
    w->rejection = GOES;
    world_settle(w);
    check_state(w, "Pending", "NamespaceTerminating", "The API server rejected the pods: " GOES);
    CHECK(strv_has(&w->event_reasons, "NamespaceTerminating"));
    CHECK_INT_EQ(w->record_count, 0);
    world_delete_job(w);
    world_settle(w);
    check_nothing_held(w);
}

/* ---- what pods need ---- */

static struct world *without(const char *spec, enum op_kind rejected)
{
    struct world *w = world_new(spec);

    w->rejection = QUOTA;
    w->quota = WORLD_CAPACITY;
    w->rejects[rejected] = true;
    world_settle(w);
    world_pass(w, REPORTED_AFTER_MS);
    return w;
}

#define WITH_LAUNCHER                                                                                        \
    SPEC("\"jobInstances\":1,\"workersPerJobInstance\":2,\"launcher\":{\"command\":[\"mpirun\",\"true\"]},")

TEST(what_pods_need_is_waited_for_without_ipus)
{
    static const struct {
        enum op_kind rejected;
        const char *spec;
    } rows[] = {
        {OP_POD_CREATE, TWO_WORKERS},
        {OP_SERVICE_CREATE, TWO_WORKERS},
        {OP_POLICY_CREATE, WITH_LAUNCHER},
        {OP_KEYS_CREATE, WITH_LAUNCHER},
    };

    CHECK_ROWS (row, rows) {
        AUTO(world) struct world *w = without(row->spec, row->rejected);

        check_backs_off(w);
        world_pass(w, AGAIN_MS);
        check_backs_off(w);
        w->rejects[row->rejected] = false;
        world_pass(w, AGAIN_MS);
        check_state(w, "Running", "Running", "Running");
    }
}

/* A full quota rejects a Secret that is there, too. */
TEST(keys_of_pods_that_are_there_are_believed)
{
    AUTO(world) struct world *w = world_new(WITH_LAUNCHER);

    while (!world_pod(w, "job-worker-1"))
        CHECK(world_advance(w));
    w->rejects[OP_KEYS_CREATE] = true;
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
}

/* ---- other writes ---- */

TEST(a_record_that_is_not_taken_is_reported)
{
    AUTO(world) struct world *w = world_new(ONE);

    w->rejects[OP_RECORD_CREATE] = true;
    for (int i = 0; i < 5; i++)
        world_reconcile(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Starting");
    CHECK_STR_EQ(world_said(w, "reason"), "WriteRejected");
    CHECK_HAS(world_said(w, "lastMessage"), WORLD_REJECTED_WRITE);
    CHECK(*world_said(w, "stuckSince"));
    w->rejects[OP_RECORD_CREATE] = false;
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
}

TEST(a_change_of_a_record_that_is_not_taken_is_reported)
{
    AUTO(world) struct world *w = running(RESTARTS("{\"type\":\"OnFailure\",\"backOffLimit\":1}"));

    w->rejects[OP_RECORD_PATCH] = true;
    world_pod_end(w, pod(w, "job-worker-0"), 1);
    for (int i = 0; i < 5; i++, w->now_ms += AGAIN_MS)
        world_reconcile(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Restarting");
    CHECK_STR_EQ(world_said(w, "reason"), "WriteRejected");
    CHECK_HAS(world_said(w, "lastMessage"), "(restart 1 of 1); " WORLD_REJECTED_WRITE);
    w->rejects[OP_RECORD_PATCH] = false;
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
}

TEST(a_pod_that_must_not_be_stopped_is_reported)
{
    AUTO(world) struct world *w = running(ONE);

    w->rejects[OP_POD_STOP] = true;
    world_set_spec(w, "suspend", "true");
    for (int i = 0; i < 5; i++)
        world_reconcile(w);
    CHECK_STR_EQ(world_said(w, "reason"), "WriteRejected");
    CHECK_HAS(world_said(w, "lastMessage"), WORLD_REJECTED_WRITE);
    w->rejects[OP_POD_STOP] = false;
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "reason"), "Suspended");
    CHECK_INT_EQ(world_held(w), 0);
}

TEST(a_finalizer_that_is_not_taken_is_reported)
{
    AUTO(world) struct world *w = world_new(ONE);

    w->rejects[OP_FINALIZER_ADD] = true;
    for (int i = 0; i < 5; i++)
        world_reconcile(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Pending");
    CHECK_STR_EQ(world_said(w, "reason"), "WriteRejected");
    w->rejects[OP_FINALIZER_ADD] = false;
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
}

TEST(what_a_rejected_record_keeps_from_being_noted_is_reported_once)
{
    AUTO(world) struct world *w = running(ONE);
    unsigned reported = 0;

    w->rejects[OP_RECORD_PATCH] = true;
    world_pod_take(w, pod(w, "job-worker-0"), "EvictionByEvictionAPI");
    for (int i = 0; i < 5; i++)
        world_reconcile(w);
    CHECK_STR_EQ(world_said(w, "reason"), "WriteRejected");
    w->rejects[OP_RECORD_PATCH] = false;
    world_pod_obey(w, pod(w, "job-worker-0"), 143);
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "reason"), "Evicted");
    for (size_t i = 0; i < w->event_reasons.count; i++)
        reported += str_eq(w->event_reasons.items[i], "Evicted");
    CHECK_INT_EQ(reported, 1);
}
