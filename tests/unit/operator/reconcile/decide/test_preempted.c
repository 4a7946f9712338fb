/* A job of higher priority gets the IPUs of one that runs. */
#include "scenario.h"

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/api/partition/record.h"

#define PREEMPTED "Preempted by job prod/urgent; instance 0 releases its IPUs and returns to the queue"

static void preempt(struct world *w, const char *partition)
{
    w->no_grants = true; /* the other one has them */
    world_track(w, partition)->preemptor = "prod/urgent";
}

/* The next record of the job's instance 0. */
static struct record *latest_record(struct world *w)
{
    struct record *latest = NULL;

    for (size_t i = 0; i < w->record_count; i++) {
        struct record *record = record_parse(w->records[i]);

        if (latest && latest->attempt > record->attempt) {
            record_free(record);
            continue;
        }
        record_free(latest);
        latest = record;
    }
    return latest;
}

static void check_waits_again(struct world *w)
{
    check_state(w, "Pending", "InsufficientIPUs", "Waiting for IPUs; preempted by job prod/urgent");
    CHECK_INT_EQ(w->partition_count, 0);
    CHECK_INT_EQ(world_number(w, "restartCount"), 0);
    CHECK_INT_EQ(world_number(w, "preemptionCount"), 1);
    CHECK(strv_has(&w->event_reasons, "IPUsPreempted"));
    CHECK(strv_has(&w->event_notes, PREEMPTED));
    check_log_is_kept(w, "job-worker-0");
    check_idle(w);
}

TEST(it_releases_its_ipus_waits_and_runs_again)
{
    AUTO(world) struct world *w = running(ONE);
    int64_t started_s = world_unix_s(w);

    preempt(w, "p-job-ns-0");
    world_settle(w);
    check_waits_again(w);
    CHECK(started_s > 0 && *world_said(w, "startTime")); /* its clocks go on */
    w->no_grants = false;
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
    CHECK_INT_EQ(world_number(w, "preemptionCount"), 1);
    CHECK_INT_EQ(world_number(w, "restartCount"), 0);
    end_all(w, 0);
    check_completed(w);
}

TEST(no_restart_policy_is_needed_and_no_restart_is_used_up)
{
    AUTO(world) struct world *w = running(RESTARTS("{\"type\":\"OnFailure\",\"backOffLimit\":1}"));
    AUTO(record) struct record *record = NULL;

    preempt(w, "p-job-ns-0");
    world_settle(w);
    check_waits_again(w);
    w->no_grants = false;
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
    record = latest_record(w);
    CHECK_INT_EQ(record->restarts, 0);
    CHECK_INT_EQ(record->preemptions, 1);
    CHECK(!record->preemptor);
    end_all(w, 1);
    world_pass(w, MINUTE_MS);
    check_state(w, "Running", "Running", "Running"); /* the one restart */
    CHECK_INT_EQ(world_number(w, "restartCount"), 1);
}

/* The first worker that is stopped takes the others along. */
TEST(a_worker_that_fails_before_it_is_stopped_itself_does_not_fail_the_job)
{
    AUTO(world) struct world *w = running(TWO_WORKERS);

    preempt(w, "p-job-ns-0");
    CHECK(world_reconcile(w)); /* the record says so */
    world_pod_end(w, pod(w, "job-worker-1"), 1);
    world_settle(w);
    check_waits_again(w);
}

TEST(another_process_goes_on_with_it)
{
    AUTO(world) struct world *w = running(ONE);

    preempt(w, "p-job-ns-0");
    CHECK(world_reconcile(w)); /* the record says so, and no pod has been stopped yet */
    CHECK(!world_pod_must_obey(pod(w, "job-worker-0")));
    world_crash(w);
    world_settle(w);
    check_waits_again(w);
}

TEST(who_is_preempted_before_the_record_says_so_runs_on_after_a_crash)
{
    AUTO(world) struct world *w = running(ONE);

    preempt(w, "p-job-ns-0");
    world_crash(w);
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
}

TEST(who_has_succeeded_meanwhile_is_completed)
{
    AUTO(world) struct world *w = running(ONE);

    preempt(w, "p-job-ns-0");
    end_all(w, 0);
    check_completed(w);
    CHECK(!strv_has(&w->event_reasons, "IPUsPreempted"));
}

TEST(the_other_instance_runs_on)
{
    AUTO(world) struct world *w = running(TWO_BY_TWO);

    preempt(w, "p-job-ns-1");
    world_settle(w);
    check_state(w, "Running", "InsufficientIPUs",
                "1 of 2 instances running, 0 done; Waiting for IPUs; preempted by job prod/urgent");
    CHECK_INT_EQ(w->partition_count, 1);
    w->no_grants = false;
    world_settle(w);
    check_state(w, "Running", "Running", "2 of 2 instances running, 0 done");
}
