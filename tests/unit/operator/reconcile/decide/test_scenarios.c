/* Jobs from apply to their end, told as stories in a small world. */
#include "scenario.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "lib/golden.h"
#include "operator/api/job/job_finished.h"

#define SECRET_MISSED_MS 20000

static void fall_silent(struct wpod *on)
{
    on->node_silent = true;
}

/* One plan, and all that the V-IPU controller has to say to it; no pod moves by itself. */
static void step(struct world *w)
{
    world_reconcile(w);
    for (size_t i = 0; i < w->track_count; i++) {
        if (w->tracks[i]->call != CALL_NONE)
            world_call_end(w, w->tracks[i], FATE_DONE);
        world_list(w, w->tracks[i]);
    }
}

static void step_until_pod(struct world *w, const char *name)
{
    for (int i = 0; i < 20 && !world_pod(w, name); i++) {
        step(w);
        for (size_t p = 0; p < w->partition_count; p++)
            world_partition_settle(w, &w->partitions[p]);
    }
    pod(w, name);
}

#define LIMITED_BY_DEADLINE SPEC("\"jobInstances\":1,\"activeDeadlineSeconds\":60,")

static void pods_obey(struct world *w)
{
    for (size_t i = 0; i < w->pod_count; i++) {
        if (w->pods[i]->exists && world_pod_must_obey(w->pods[i]))
            world_pod_obey(w, w->pods[i], 143);
    }
}

static void reconcile_until_call(struct world *w, enum wcall call)
{
    for (int i = 0; i < 20 && w->tracks[0]->call != call; i++) {
        world_reconcile(w);
        pods_obey(w);
    }
    CHECK_INT_EQ(w->tracks[0]->call, call);
}

/* ---- the ordinary course ---- */

static bool has_secret(const struct world *w, const char *start)
{
    AUTO(mem) char *name = mem_printf("job-vipu-0a1b2c3d-%s", start);

    return strv_has(&w->secrets, name);
}

TEST(pods_of_a_controller_that_wants_to_know_them_find_a_secret_for_each_start)
{
    AUTO(world) struct world *w = world_new(RESTARTS("{\"type\":\"OnFailure\"}"));

    w->gives_vipu_access = true;
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
    CHECK(has_secret(w, "0"));
    check_idle(w);
    end_all(w, 1);
    world_pass(w, MINUTE_MS);
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
    CHECK(has_secret(w, "1"));
    CHECK_INT_EQ(w->secrets.count, 1);
    end_all(w, 0);
    world_settle(w);
    check_completed(w);
    CHECK_INT_EQ(w->secrets.count, 0);
}

/* Its kubelet waits for the Secret, and tells nobody but in events. Another with the same content will do. */
TEST(a_secret_that_a_pod_waits_for_is_made_again)
{
    AUTO(world) struct world *w = world_new(ONE);

    w->gives_vipu_access = true;
    while (!world_pod(w, "job-worker-0"))
        CHECK(world_advance(w));
    world_drop_secrets(w);
    world_pass(w, 1000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Starting");
    CHECK(!has_secret(w, "0"));
    world_pass(w, SECRET_MISSED_MS);
    CHECK(has_secret(w, "0"));
    check_state(w, "Running", "Running", "Running");
    CHECK_INT_EQ(pod(w, "job-worker-0")->run, 0);
}

TEST(a_job_runs_and_completes)
{
    AUTO(world) struct world *w = running(ONE);

    check_state(w, "Running", "Running", "Running");
    CHECK_INT_EQ(world_number(w, "currentReplicas"), 1);
    CHECK_INT_EQ(world_number(w, "desiredReplicas"), 1);
    CHECK(json_bool(w->status, "iPUPartitionCreated", false));
    CHECK_INT_EQ(w->partition_count, 1);
    CHECK_STR_EQ(w->partitions[0].id, "p-job-ns-0");
    check_idle(w);
    world_pod_end(w, pod(w, "job-worker-0"), 0);
    world_settle(w);
    check_completed(w);
    CHECK_INT_EQ(world_number(w, "desiredReplicas"), 1);
    CHECK_INT_EQ(world_number(w, "workersStatus/succeeded"), 1);
    CHECK(json_bool(w->status, "iPUPartitionCreated", false));
    CHECK(world_pod(w, "job-worker-0")); /* for its log */
    check_idle(w);
}

TEST(instances_and_workers_are_numbered_through)
{
    AUTO(world) struct world *w = running(TWO_BY_TWO);

    CHECK(w->has_service);
    CHECK_INT_EQ(pod(w, "job-worker-0")->instance, 0);
    CHECK_INT_EQ(pod(w, "job-worker-1")->worker, 1);
    CHECK_INT_EQ(pod(w, "job-worker-2")->instance, 1);
    CHECK_INT_EQ(pod(w, "job-worker-3")->worker, 1);
    CHECK_STR_EQ(pod(w, "job-worker-3")->partition, "p-job-ns-1");
    check_state(w, "Running", "Running", "2 of 2 instances running, 0 done");
    world_pod_end(w, pod(w, "job-worker-2"), 0);
    world_pod_end(w, pod(w, "job-worker-3"), 0);
    world_settle(w);
    check_state(w, "Running", "Running", "1 of 2 instances running, 1 done");
    CHECK_INT_EQ(w->partition_count, 1); /* the second instance's IPUs went back at once */
    CHECK_STR_EQ(world_said(w, "completedIndexes"), "1");
    end_all(w, 0);
    check_completed(w);
    CHECK_STR_EQ(world_said(w, "completedIndexes"), "0-1");
}

TEST(a_job_that_waits_for_ipus_starts_by_itself)
{
    AUTO(world) struct world *w = world_new(ONE);

    w->no_grants = true;
    world_settle(w);
    check_state(w, "Pending", "InsufficientIPUs", "Waiting for IPUs");
    CHECK_INT_EQ(w->record_count, 0);
    check_idle(w);
    w->no_grants = false;
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}

TEST(a_controller_without_room_is_asked_again)
{
    AUTO(world) struct world *w = world_new(ONE);
    unsigned reported;

    w->partition_rejection = PARTITION_REJECTED_CAPACITY;
    world_settle(w);
    world_pass(w, 1000);
    check_state(w, "Pending", "InsufficientIPUs",
                "V-IPU controller vipu:8090 has no capacity for 4 IPUs: no room");
    reported = w->status_writes;
    for (int i = 0; i < 20; i++)
        world_pass(w, 1000);
    CHECK_INT_EQ(w->status_writes, reported); /* trying again is no news */
    w->partition_rejection = PARTITION_NOT_REJECTED;
    world_pass(w, 1000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}

TEST(a_job_scaled_to_nothing_says_so)
{
    AUTO(world) struct world *w = world_new(SPEC("\"jobInstances\":0,"));

    world_settle(w);
    check_state(w, "Pending", "ScaledToZero",
                "Scaled to zero; set spec.jobInstances to 1 or more to start the job");
    world_set_spec(w, "jobInstances", "1");
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_INT_EQ(world_number(w, "observedGeneration"), 2);
}

TEST(a_job_of_another_operator_is_left_alone)
{
    AUTO(world) struct world *w = world_new(SPEC("\"jobInstances\":1,\"managedBy\":\"example.org/other\","));

    world_settle(w);
    CHECK_INT_EQ(w->writes, 0);
    AUTO(world)
    struct world *ours = running(SPEC("\"jobInstances\":1,\"managedBy\":\"graphcore.ai/ipu-operator\","));
    CHECK(ours->finalizer);
}

#define OTHER_NS "other-system"

TEST(a_job_that_another_operator_runs_is_left_alone)
{
    AUTO(world) struct world *w = world_new(ONE);

    w->finalizer = true;
    w->operator_ns = OTHER_NS;
    world_settle(w);
    CHECK_INT_EQ(w->writes, 0);
    world_delete_job(w);
    world_settle(w);
    CHECK_INT_EQ(w->writes, 0);
    CHECK(w->exists);
}

TEST(what_is_held_for_a_job_that_is_given_to_another_operator_is_released)
{
    AUTO(world) struct world *w = running(TWO_BY_TWO);
    unsigned status_writes = w->status_writes;

    w->operator_ns = OTHER_NS;
    world_settle(w);
    CHECK_INT_EQ(w->partition_count, 0);
    CHECK_INT_EQ(world_held(w), 0);
    check_log_is_kept(w, "job-worker-3");
    CHECK_INT_EQ(w->status_writes, status_writes);
    CHECK(w->finalizer);
    CHECK_STR_EQ(w->operator_ns, OTHER_NS);
    check_idle(w);
}

TEST(a_job_of_an_earlier_version_gets_the_name_of_its_operator)
{
    AUTO(world) struct world *w = running(ONE);
    const struct wpod *worker = pod(w, "job-worker-0");
    unsigned writes = w->writes;

    w->operator_ns = NULL;
    world_settle(w);
    CHECK_STR_EQ(w->operator_ns, WORLD_OPERATOR_NS);
    CHECK_INT_EQ(w->writes, writes + 1);
    CHECK(pod(w, "job-worker-0") == worker);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}

/* ---- failures and restarts ---- */

TEST(a_failure_is_reported_with_container_code_and_pod)
{
    AUTO(world) struct world *w = running(ONE);

    pod(w, "job-worker-0")->last_words = "Traceback\nKeyError: 7\n";
    world_pod_end(w, pod(w, "job-worker-0"), 3);
    world_settle(w);
    check_state(w, "Failed", "ContainerFailed",
                "Container main of pod job-worker-0 exited with code 3: KeyError: 7");
    CHECK_INT_EQ(world_number(w, "workersStatus/failed"), 1);
    CHECK_STR_EQ(world_said(w, "failedIndexes"), "0");
    CHECK_INT_EQ(json_i64(json_at(w->status, "failures")->child, "exitCode", -1), 3);
    CHECK_STR_EQ(json_str(json_at(w->status, "failures")->child, "pod", ""), "job-worker-0");
    CHECK(world_pod(w, "job-worker-0"));
    check_nothing_held(w);
    check_idle(w);
}

TEST(a_restart_waits_resets_and_is_counted)
{
    AUTO(world) struct world *w = running(RESTARTS("{\"type\":\"OnFailure\",\"backOffLimit\":2}"));
    struct wpod *first = pod(w, "job-worker-0");

    world_pod_end(w, first, 1);
    world_settle(w);
    check_state(w, "Restarting", "Restarting", "Restarting instance 0 (restart 1 of 2)");
    CHECK_INT_EQ(w->again_at_ms, w->now_ms + 10000);
    world_pass(w, 9000);
    CHECK(pod(w, "job-worker-0") == first);
    world_pass(w, 1000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK(pod(w, "job-worker-0") != first);
    CHECK_INT_EQ(pod(w, "job-worker-0")->run, 1);
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-ns-0");
    CHECK_INT_EQ(world_number(w, "restartCount"), 1);
    end_all(w, 1);
    world_pass(w, 19000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Restarting");
    world_pass(w, 1000);
    CHECK_INT_EQ(world_number(w, "restartCount"), 2);
    end_all(w, 1);
    check_state(w, "Failed", "BackoffLimitExceeded",
                "Container main of pod job-worker-0 exited with code 1; backOffLimit of 2 restarts reached");
    CHECK_INT_EQ(cJSON_GetArraySize(json_at(w->status, "failures")), 3);
}

TEST(only_listed_exit_codes_restart)
{
    AUTO(world) struct world *listed = running(RESTARTS("{\"type\":\"ExitCode\",\"exitCodes\":\"40-50\"}"));
    AUTO(world) struct world *other = running(RESTARTS("{\"type\":\"ExitCode\",\"exitCodes\":\"40-50\"}"));

    end_all(listed, 42);
    CHECK_STR_EQ(world_said(listed, "launcherStatus"), "Restarting");
    end_all(other, 1);
    CHECK_STR_EQ(world_said(other, "launcherStatus"), "Failed");
}

TEST(always_restarts_a_success_too_as_often_as_allowed)
{
    AUTO(world) struct world *w = running(RESTARTS("{\"type\":\"Always\",\"backOffLimit\":1}"));

    end_all(w, 0);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Restarting");
    world_pass(w, 10000);
    CHECK_INT_EQ(world_number(w, "restartCount"), 1);
    end_all(w, 0);
    check_completed(w);
}

TEST(never_ends_a_success_at_once)
{
    AUTO(world) struct world *w = running(RESTARTS("{\"type\":\"OnFailure\"}"));

    end_all(w, 0);
    check_completed(w);
}

TEST(one_failed_instance_does_not_stop_the_others)
{
    AUTO(world) struct world *w = running(SPEC("\"jobInstances\":2,"));

    pod(w, "job-worker-0")->last_words = "epoch 1\nno\n";
    world_pod_end(w, pod(w, "job-worker-0"), 1);
    world_settle(w);
    check_state(w, "Running", "Running", "1 of 2 instances running, 0 done, 1 failed");
    CHECK_INT_EQ(w->partition_count, 1);
    end_all(w, 0);
    check_state(w, "Failed", "InstanceFailed",
                "1 of 2 instances failed: Container main of pod job-worker-0 exited with code 1: no (see "
                "status.failures)");
    CHECK_STR_EQ(world_said(w, "completedIndexes"), "1");
    CHECK_STR_EQ(world_said(w, "failedIndexes"), "0");
    check_nothing_held(w);
}

TEST(the_end_names_who_failed_for_good_and_not_who_was_restarted)
{
    AUTO(world)
    struct world *w =
        running(SPEC("\"jobInstances\":2,\"restartPolicy\":{\"type\":\"ExitCode\",\"exitCodes\":\"42\"},"));

    world_pod_end(w, pod(w, "job-worker-0"), 1);
    world_settle(w);
    world_pass(w, 5000);
    world_pod_end(w, pod(w, "job-worker-1"), 42);
    world_settle(w);
    world_pass(w, 20000);
    CHECK_INT_EQ(world_number(w, "restartCount"), 1);
    CHECK_STR_EQ(json_str(json_at(w->status, "failures")->child, "pod", ""), "job-worker-1");
    end_all(w, 0);
    check_state(w, "Failed", "InstanceFailed",
                "1 of 2 instances failed: Container main of pod job-worker-0 exited with code 1 (see "
                "status.failures)");
}

/* The next attempt takes the names of all pods, and with them kubectl logs. */
TEST(a_restart_keeps_the_last_lines_of_every_worker)
{
    AUTO(world)
    struct world *w =
        running(SPEC("\"jobInstances\":1,\"workersPerJobInstance\":2,\"restartPolicy\":{\"type\":"
                     "\"OnFailure\"},"));
    const cJSON *entry;

    pod(w, "job-worker-0")->last_words = "epoch 1\nwaits for worker 1\n";
    pod(w, "job-worker-1")->last_words = "epoch 1\nKeyError: 7\n";
    world_pod_end(w, pod(w, "job-worker-1"), 1);
    world_settle(w);
    check_state(w, "Restarting", "Restarting", "Restarting instance 0 (restart 1 of 3)");
    world_pass(w, 10000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    entry = json_at(w->status, "failures")->child;
    CHECK_STR_EQ(json_str(entry, "pod", ""), "job-worker-1");
    CHECK_STR_EQ(json_str(entry, "message", ""), "epoch 1\nKeyError: 7\n");
    CHECK_INT_EQ(cJSON_GetArraySize(json_at(entry, "otherPods")), 1);
    entry = json_at(entry, "otherPods")->child;
    CHECK_STR_EQ(json_str(entry, "pod", ""), "job-worker-0");
    CHECK_STR_EQ(json_str(entry, "message", ""), "epoch 1\nwaits for worker 1\n");
    check_idle(w);
}

/* They would wait for it forever. */
TEST(a_failed_worker_takes_its_peers_along)
{
    AUTO(world) struct world *w = running(TWO_WORKERS);
    struct wpod *peer = pod(w, "job-worker-1");

    world_pod_end(w, pod(w, "job-worker-0"), 1);
    world_reconcile(w);
    CHECK(peer->stopped_ms && !peer->deleting);
    check_state(w, "Running", "ContainerFailed", /* its end is told when it is one */
                "Container main of pod job-worker-0 exited with code 1");
    CHECK_INT_EQ(w->partition_count, 1);
    world_settle(w);
    check_state(w, "Failed", "ContainerFailed", "Container main of pod job-worker-0 exited with code 1");
    check_log_is_kept(w, "job-worker-1");
    CHECK_INT_EQ(world_number(w, "workersStatus/failed"), 1); /* its peer has not failed */
    check_nothing_held(w);
}

/* A peer that never got a node goes at once, and leaves nothing behind that looks like a deletion by hand. */
TEST(a_failed_worker_with_a_pending_peer_ends_the_job)
{
    AUTO(world) struct world *w = world_new(TWO_WORKERS);

    world_settle(w);
    struct wpod *peer = pod(w, "job-worker-1");
    mem_set_str(&peer->node, NULL);
    peer->report = REPORT_NOTHING;
    peer->process = false;
    world_saw_pod(w, peer);
    world_pod_end(w, pod(w, "job-worker-0"), 1);
    world_settle(w);
    check_state(w, "Failed", "ContainerFailed", "Container main of pod job-worker-0 exited with code 1");
    CHECK_INT_EQ(w->pod_count, 2);
}

TEST(a_failed_worker_and_a_lost_one_are_a_failure_and_the_ipus_are_held)
{
    AUTO(world) struct world *w = running(TWO_WORKERS);

    world_pod_vanish(w, pod(w, "job-worker-1"), false);
    world_pod_end(w, pod(w, "job-worker-0"), 1);
    world_settle(w);
    check_state(w, "Failed", "ContainerFailed", "Container main of pod job-worker-0 exited with code 1");
    CHECK_INT_EQ(w->partition_count, 1);
    world_pass(w, WORLD_HOLD_MS - 1);
    CHECK_INT_EQ(w->partition_count, 1);
    world_pass(w, 1);
    check_nothing_held(w);
}

TEST(a_pod_that_ran_out_of_memory_says_so)
{
    AUTO(world) struct world *w = running(ONE);

    pod(w, "job-worker-0")->is_out_of_memory = true;
    world_pod_end(w, pod(w, "job-worker-0"), 137);
    world_settle(w);
    check_state(w, "Failed", "OOMKilled",
                "Container main of pod job-worker-0 was OOM-killed (exit code 137)");
}

TEST(an_evicted_pod_fails_or_restarts_its_job_by_policy)
{
    AUTO(world) struct world *never = running(ONE);
    AUTO(world) struct world *again = running(RESTARTS("{\"type\":\"OnFailure\"}"));

    pod(never, "job-worker-0")->ended_by = "Evicted";
    end_all(never, 137);
    check_state(never, "Failed", "Evicted", "Pod job-worker-0 failed: Evicted");
    check_nothing_held(never);
    pod(again, "job-worker-0")->ended_by = "Evicted";
    end_all(again, 137);
    CHECK_STR_EQ(world_said(again, "launcherStatus"), "Restarting");
}

TEST(an_image_that_cannot_be_pulled_is_reported)
{
    AUTO(world) struct world *w = running(ONE);

    pod(w, "job-worker-0")->report = REPORT_WAITING;
    pod(w, "job-worker-0")->process = false;
    pod(w, "job-worker-0")->waits_in = "ImagePullBackOff";
    world_reconcile(w);
    check_state(w, "Starting", "ImagePullFailed",
                "Pod job-worker-0 is waiting: ImagePullBackOff: ImagePullBackOff");
}

TEST(a_job_names_the_container_that_it_waits_for)
{
    AUTO(world) struct world *w = running(TWO_WORKERS);

    pod(w, "job-worker-0")->has_lingering = true;
    world_settle(w);
    check_state(w, "Running", "Running", "Running"); /* on the other worker */
    pod(w, "job-worker-1")->has_lingering = true;
    world_settle(w);
    check_state(w, "Running", "Finishing",
                "Main container of pod job-worker-1 completed; waiting for container board to exit");
    pod(w, "job-worker-1")->exit_code = 3;
    world_settle(w);
    world_pass(w, MINUTE_MS); /* another number is no news */
    CHECK_STR_EQ(
        world_said(w, "lastMessage"),
        "Container main of pod job-worker-1 exited with code 3; waiting for container board to exit");
    for (size_t i = 0; i < w->pod_count; i++)
        w->pods[i]->has_lingering = false;
    end_all(w, 0);
    check_completed(w);
}

/* Its IPUs may still be used. */
TEST(a_job_is_not_over_while_a_sidecar_runs)
{
    AUTO(world) struct world *w = running(ONE);

    pod(w, "job-worker-0")->has_running_sidecar = true;
    world_pod_end(w, pod(w, "job-worker-0"), 0);
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_INT_EQ(w->partition_count, 1);
    pod(w, "job-worker-0")->has_running_sidecar = false;
    world_settle(w);
    check_completed(w);
}

/* ---- pods that are deleted, lost or stuck ---- */

TEST(a_job_resumed_while_its_pods_still_end_says_so)
{
    AUTO(world) struct world *w = running(ONE);
    struct wpod *old = pod(w, "job-worker-0");

    world_set_spec(w, "suspend", "true");
    world_reconcile(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Suspended");
    CHECK(old->stopped_ms);
    world_set_spec(w, "suspend", "false");
    for (int look = 0; look < 2; look++) {
        world_reconcile(w);
        check_state(w, "Starting", "StoppingOldPods",
                    "Waiting for pods from before the suspension to terminate");
    }
    world_pod_obey(w, old, 143);
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
}

TEST(a_pod_deleted_by_hand_comes_back_and_counts_as_no_restart)
{
    AUTO(world) struct world *w = running(ONE);
    struct wpod *old = pod(w, "job-worker-0");

    world_pod_delete(w, old);
    world_reconcile(w);
    check_state(w, "Restarting", "PodDeleted", "A pod of instance 0 was deleted; restarting the instance");
    world_pod_obey(w, old, 143);
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-ns-0");
    CHECK_INT_EQ(world_number(w, "restartCount"), 0);
    end_all(w, 0);
    check_completed(w);
}

/* The kubelet reports the end of a deleted pod before the pod goes: 143, or 0 where the program minds
 * SIGTERM. */
TEST(how_a_deleted_pod_ends_is_nobodys_failure_or_success)
{
    static const int codes[] = {143, 0};

    CHECK_ROWS (code, codes) {
        AUTO(world) struct world *w = running(ONE);
        struct wpod *old = pod(w, "job-worker-0");

        world_pod_delete(w, old);
        world_pod_end(w, old, *code);
        world_reconcile(w);
        CHECK_STR_EQ(world_said(w, "launcherStatus"), "Restarting");
        world_settle(w);
        CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
        CHECK(pod(w, "job-worker-0") != old);
    }
}

TEST(one_deleted_worker_restarts_its_whole_instance)
{
    AUTO(world) struct world *w = running(TWO_BY_TWO);
    struct wpod *peer = pod(w, "job-worker-1"), *stranger = pod(w, "job-worker-2");

    world_pod_delete(w, pod(w, "job-worker-0"));
    world_settle(w);
    CHECK(pod(w, "job-worker-1") != peer);
    CHECK(pod(w, "job-worker-2") == stranger);
    CHECK_INT_EQ(pod(w, "job-worker-0")->run, 1);
    CHECK_INT_EQ(pod(w, "job-worker-1")->run, 1);
}

TEST(a_lost_pods_partition_is_held_then_fenced_and_its_id_not_used_again)
{
    AUTO(world) struct world *w = running(ONE);

    world_pod_vanish(w, pod(w, "job-worker-0"), false); /* by force: the process lives on */
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Restarting");
    CHECK_STR_EQ(world_said(w, "reason"), "TerminationUnconfirmed");
    CHECK_HAS(world_said(w, "lastMessage"), "Pod job-worker-0 on node node-of-pod-");
    CHECK_HAS(world_said(w, "lastMessage"),
              " disappeared without terminating; holding partition p-job-ns-0 until ");
    CHECK_INT_EQ(w->again_at_ms, w->now_ms + WORLD_HOLD_MS);
    world_pass(w, WORLD_HOLD_MS - 1);
    CHECK(world_partition(w, "p-job-ns-0"));
    world_pass(w, 1);
    CHECK(!world_partition(w, "p-job-ns-0"));
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-0a1b2c3d4e-0-1");
    CHECK_INT_EQ(world_held(w), 1);
    CHECK(world_is_spent(w, "p-job-ns-0"));

    /* and again: not even the first id comes back */
    world_pod_vanish(w, pod(w, "job-worker-0"), false);
    world_settle(w);
    world_pass(w, WORLD_HOLD_MS);
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-0a1b2c3d4e-0-2");
    end_all(w, 0);
    check_completed(w);
}

TEST(restarts_are_counted_over_attempts)
{
    AUTO(world) struct world *w = running(RESTARTS("{\"type\":\"OnFailure\",\"backOffLimit\":1}"));

    end_all(w, 1);
    world_pass(w, 10000);
    CHECK_INT_EQ(world_number(w, "restartCount"), 1);
    world_pod_vanish(w, pod(w, "job-worker-0"), false);
    world_settle(w);
    world_pass(w, WORLD_HOLD_MS);
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-0a1b2c3d4e-0-1");
    end_all(w, 1);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Failed");
}

/* While the machine is full, the record of the lost attempt stands for what was used. */
TEST(a_lost_attempt_is_remembered_while_ipus_are_short)
{
    AUTO(world) struct world *w = running(ONE);

    w->no_grants = true;
    world_pod_vanish(w, pod(w, "job-worker-0"), false);
    world_settle(w);
    world_pass(w, WORLD_HOLD_MS);
    CHECK_INT_EQ(w->partition_count, 0);
    CHECK_INT_EQ(w->record_count, 1);
    check_state(w, "Pending", "InsufficientIPUs", "Waiting for IPUs");
    check_idle(w);
    w->no_grants = false;
    world_settle(w);
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-0a1b2c3d4e-0-1");
    CHECK_INT_EQ(world_held(w), 1);
    CHECK(world_is_spent(w, "p-job-ns-0"));
}

TEST(logs_stay_until_the_next_attempt_has_ipus)
{
    AUTO(world) struct world *w = running(TWO_WORKERS);
    char *before;

    world_pod_end(w, pod(w, "job-worker-0"), 0); /* and its peer runs on */
    world_set_spec(w, "suspend", "true");
    world_settle(w);
    w->no_grants = true;
    world_set_spec(w, "suspend", "false");
    world_pass(w, MINUTE_MS);
    check_state(w, "Pending", "InsufficientIPUs", "Waiting for IPUs");
    check_log_is_kept(w, "job-worker-0");
    check_log_is_kept(w, "job-worker-1");
    check_idle(w);
    before = pod(w, "job-worker-1")->uid;
    w->no_grants = false;
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
    CHECK(!str_eq(pod(w, "job-worker-1")->uid, before));
    CHECK_INT_EQ(world_number(w, "restartCount"), 0);
}

TEST(logs_of_a_failed_attempt_stay_until_it_restarts)
{
    AUTO(world)
    struct world *w = running(SPEC("\"jobInstances\":1,\"workersPerJobInstance\":2,"
                                   "\"restartPolicy\":{\"type\":\"OnFailure\"},"));

    pod(w, "job-worker-0")->last_words = "out of luck";
    world_pod_end(w, pod(w, "job-worker-0"), 3);
    world_pass(w, 9000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Restarting");
    check_log_is_kept(w, "job-worker-0");
    check_log_is_kept(w, "job-worker-1");
    world_pass(w, 1000);
    check_state(w, "Running", "Running", "Running");
    CHECK_STR_EQ(json_str(json_at(w->status, "failures")->child, "message", ""), "out of luck");
}

/* Its kubelet reported the first failure after the second, and calls it a stop. */
TEST(a_pod_that_failed_before_it_was_stopped_is_the_cause)
{
    AUTO(world) struct world *w = running(TWO_WORKERS);
    struct wpod *first = pod(w, "job-worker-1");

    first->process = false;
    first->exit_code = 3;
    first->ended_s = world_unix_s(w);
    world_pass(w, 2000);
    world_pod_end(w, pod(w, "job-worker-0"), 1);
    w->now_ms += 1000;
    world_reconcile(w);
    CHECK(first->stopped_ms);
    first->report = REPORT_ENDED;
    world_saw_pod(w, first);
    world_settle(w);
    check_state(w, "Failed", "ContainerFailed", "Container main of pod job-worker-1 exited with code 3");
}

TEST(a_kept_pod_may_be_deleted_by_hand)
{
    AUTO(world) struct world *w = running(LIMITED_BY_DEADLINE);

    world_pass(w, MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "reason"), "DeadlineExceeded");
    check_log_is_kept(w, "job-worker-0");
    world_pod_delete(w, pod(w, "job-worker-0"));
    check_idle(w);
    CHECK(!world_pod(w, "job-worker-0"));
}

TEST(a_pod_that_does_not_end_is_given_up_after_the_hold_and_dropped_after_the_fence)
{
    AUTO(world) struct world *w = running(ONE);
    struct wpod *stuck = pod(w, "job-worker-0");

    fall_silent(stuck);
    world_pod_delete(w, stuck);
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "reason"), "PodDeleted");
    world_pass(w, MINUTE_MS);
    CHECK_HAS(world_said(w, "lastMessage"), "restarting the instance; holding partition p-job-ns-0 until ");
    CHECK_INT_EQ(w->again_at_ms, w->now_ms + WORLD_HOLD_MS - MINUTE_MS);
    world_pass(w, WORLD_HOLD_MS - MINUTE_MS - 1);
    CHECK(stuck->exists);
    CHECK(world_partition(w, "p-job-ns-0"));
    w->now_ms++;
    world_reconcile(w);
    CHECK_HAS(world_said(w, "lastMessage"), " has not terminated");
    CHECK(stuck->exists); /* its name is still taken: the fence comes first */
    world_settle(w);
    CHECK(!stuck->exists);
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-0a1b2c3d4e-0-1");
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}

/* Each pod that was asked to go has its own time to do so. */
TEST(a_peer_that_is_still_ending_is_waited_for)
{
    AUTO(world) struct world *w = running(TWO_WORKERS);
    struct wpod *slow = pod(w, "job-worker-1");

    world_pod_vanish(w, pod(w, "job-worker-0"), false);
    fall_silent(slow);
    w->now_ms += WORLD_HOLD_MS;
    world_reconcile(w); /* notices, and asks the peer to go: late */
    world_reconcile(w);
    CHECK(slow->stopped_ms);
    CHECK(world_partition(w, "p-job-ns-0"));
    world_pass(w, WORLD_HOLD_MS - 1);
    CHECK(world_partition(w, "p-job-ns-0"));
    world_pass(w, 1);
    CHECK(!world_partition(w, "p-job-ns-0"));
}

TEST(a_node_that_rebooted_runs_nothing_of_before)
{
    AUTO(world) struct world *w = running(ONE);
    struct wpod *old = pod(w, "job-worker-0");

    world_pod_vanish(w, old, false);
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "reason"), "TerminationUnconfirmed");
    world_pod_fence(w, old);
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-ns-0");
}

TEST(what_the_garbage_collector_says_is_not_quiet)
{
    AUTO(world) struct world *w = running(RESTARTS("{\"type\":\"OnFailure\"}"));
    struct wpod *old = pod(w, "job-worker-0");

    world_pod_collect(w, old);
    world_settle(w);
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "reason"), "TerminationUnconfirmed");
    CHECK(world_partition(w, "p-job-ns-0"));
    CHECK_STR_EQ(json_str(json_at(w->status, "failures")->child, "reason", ""), "NodeLost");
    world_pass(w, WORLD_HOLD_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_INT_EQ(world_number(w, "restartCount"), 1);
}

/* ---- the Service of several workers ---- */

TEST(a_service_that_was_deleted_comes_back)
{
    AUTO(world) struct world *w = running(TWO_WORKERS);

    w->has_service = false;
    world_settle(w);
    CHECK(w->has_service);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    check_idle(w);
}

TEST(a_service_of_another_owner_is_reported_and_left_alone)
{
    AUTO(world) struct world *w = world_new(TWO_WORKERS);

    w->service_taken = true;
    world_settle(w);
    world_pass(w, 1000);
    check_state(w, "Pending", "NameConflict",
                "Instance 0 could not start; IPUs released until the next try: Service "
                "job-workers exists");
    CHECK(strv_has(&w->event_reasons, "NameConflict"));
    CHECK_INT_EQ(w->pod_count, 0);
    CHECK_INT_EQ(w->partition_count, 0);
    check_idle(w);
    w->service_taken = false;
    world_pass(w, 10000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}

/* ---- the template's own restart policy ---- */

TEST(a_restart_policy_in_the_template_is_warned_of_once_per_spec)
{
    AUTO(world)
    struct world *w = world_new("{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\",\"workers\":{\"template\":{"
                                "\"spec\":{\"restartPolicy\":\"OnFailure\",\"containers\":[{\"name\":"
                                "\"main\"}]}}}}");
    unsigned warned = 0;

    world_settle(w);
    end_all(w, 0);
    check_completed(w);
    for (size_t i = 0; i < w->event_reasons.count; i++)
        warned += str_eq(w->event_reasons.items[i], "RestartPolicyIgnored");
    CHECK_INT_EQ(warned, 1);
}

/* ---- pods that the cluster takes away ---- */

static const struct {
    const char *by, *reason, *sentence;
} takers[] = {
    {"PreemptionByScheduler", "Preempted", "Pod job-worker-0 was preempted by a pod with higher priority"},
    {"EvictionByEvictionAPI", "Evicted", "Pod job-worker-0 was evicted from its node"},
    {"DeletionByTaintManager", "NodeLost",
     "Pod job-worker-0 was deleted: its node is unreachable, gone or tainted"},
};

TEST(a_pod_that_is_taken_away_fails_a_job_that_never_restarts)
{
    CHECK_ROWS (taker, takers) {
        AUTO(world) struct world *w = running(ONE);

        world_pod_take(w, pod(w, "job-worker-0"), taker->by);
        world_settle(w);
        check_state(w, "Failed", taker->reason, taker->sentence);
        CHECK_STR_EQ(json_str(json_at(w->status, "failures")->child, "reason", ""), taker->reason);
        CHECK_STR_EQ(json_str(json_at(w->status, "failures")->child, "pod", ""), "job-worker-0");
        check_nothing_held(w);
        check_idle(w);
    }
}

TEST(a_pod_that_is_taken_away_restarts_a_job_that_may)
{
    CHECK_ROWS (taker, takers) {
        AUTO(world) struct world *w = running(RESTARTS("{\"type\":\"OnFailure\"}"));

        world_pod_take(w, pod(w, "job-worker-0"), taker->by);
        world_settle(w);
        CHECK_STR_EQ(world_said(w, "launcherStatus"), "Restarting");
        world_pass(w, 10000);
        CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
        CHECK_INT_EQ(world_number(w, "restartCount"), 1);
        CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-ns-0");
        CHECK_STR_EQ(json_str(json_at(w->status, "failures")->child, "reason", ""), taker->reason);
        end_all(w, 0);
        check_completed(w);
    }
}

/* It has no exit code that a list could name. */
TEST(a_pod_that_is_taken_away_matches_no_exit_code)
{
    AUTO(world) struct world *w = running(RESTARTS("{\"type\":\"ExitCode\",\"exitCodes\":\"1-255\"}"));

    world_pod_take(w, pod(w, "job-worker-0"), "PreemptionByScheduler");
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "reason"), "Preempted");
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Failed");
}

/* Its peers fail because of it, later. */
TEST(a_pod_that_is_taken_away_is_the_cause_of_what_its_peers_do)
{
    AUTO(world) struct world *w = running(TWO_WORKERS);

    world_pod_take(w, pod(w, "job-worker-0"), "EvictionByEvictionAPI");
    world_reconcile(w);
    w->now_ms += 2000;
    world_pod_end(w, pod(w, "job-worker-1"), 1);
    world_settle(w);
    check_state(w, "Failed", "Evicted", "Pod job-worker-0 was evicted from its node");
    CHECK_INT_EQ(cJSON_GetArraySize(json_at(w->status, "failures")), 1);
}

/* The pod is gone, and the operator that knew why is too: the record tells. */
TEST(why_a_pod_was_taken_away_survives_the_operator)
{
    AUTO(world) struct world *w = running(ONE);
    struct wpod *old = pod(w, "job-worker-0");

    world_pod_take(w, old, "PreemptionByScheduler");
    world_reconcile(w); /* the note */
    world_pod_obey(w, old, 143);
    world_crash(w);
    world_settle(w);
    check_state(w, "Failed", "Preempted", "Pod job-worker-0 was preempted by a pod with higher priority");
}

/* The condition comes first; a deletion that does not follow changes nothing. */
TEST(a_disruption_that_was_only_announced_is_none)
{
    AUTO(world) struct world *w = running(ONE);
    struct wpod *still = pod(w, "job-worker-0");

    still->taken_by = "EvictionByEvictionAPI";
    world_saw_pod(w, still);
    check_idle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}

/* ---- the operator dies ---- */

TEST(a_new_process_finds_a_running_job_and_writes_nothing)
{
    AUTO(world) struct world *w = running(TWO_BY_TWO);
    unsigned writes = w->writes;

    world_crash(w);
    world_reconcile(w);
    world_settle(w);
    CHECK_INT_EQ(w->writes, writes);
}

/* kill -9 after every single request of a life: the same end is reached. */
TEST(a_death_at_any_step_reaches_the_same_end)
{
    for (unsigned fatal = 1;; fatal++) {
        AUTO(world) struct world *w = world_new(TWO_BY_TWO);
        unsigned before = 0;

        while (!w->finalizer || w->writes < fatal) {
            before = w->writes;
            world_reconcile(w);
            if (w->writes == before)
                break;
        }
        world_crash(w);
        world_settle(w);
        world_pass(w, 60000);
        end_all(w, 0);
        world_pass(w, 60000);
        check_completed(w);
        if (before == w->writes || fatal > 40)
            return;
    }
}

/* Pods may have been created that nobody noted or has seen since. */
TEST(pods_that_may_have_been_started_unseen_cost_the_id)
{
    AUTO(world) struct world *w = world_new(ONE);

    step_until_pod(w, "job-worker-0");
    struct wpod *unseen = pod(w, "job-worker-0");
    world_pod_schedule(w, unseen);
    world_pod_run(w, unseen, false);
    unseen->exists = false; /* by force, while the operator is down */
    unseen->vanished_ms = w->now_ms;
    world_crash(w);
    world_settle(w);
    world_pass(w, WORLD_STRAY_MS + 1000);
    CHECK(unseen->process);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-0a1b2c3d4e-0-1");
    end_all(w, 0);
    world_pass(w, WORLD_STRAY_MS + 1000);
    check_completed(w);
    CHECK(world_is_spent(w, "p-job-ns-0"));
}

TEST(a_pod_that_vanished_while_no_operator_ran_is_held_for)
{
    AUTO(world) struct world *w = running(ONE);
    struct wpod *gone = pod(w, "job-worker-0");

    gone->exists = false;
    gone->vanished_ms = w->now_ms;
    world_crash(w);
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "reason"), "TerminationUnconfirmed");
    CHECK_HAS(world_said(w, "lastMessage"), "Pod job-worker-0 on node unknown disappeared");
    world_pass(w, WORLD_HOLD_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}

/* ---- partitions that are not as they should be ---- */

TEST(an_id_of_another_owner_is_left_alone)
{
    AUTO(world) struct world *w = world_new(ONE);

    world_partition_add(w, "p-job-ns-0", 8, 1, true);
    world_settle(w);
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-0a1b2c3d4e-0-0");
    end_all(w, 0);
    CHECK_INT_EQ(w->partition_count, 1);
    CHECK(world_partition(w, "p-job-ns-0")->is_foreign);
}

TEST(an_id_taken_at_the_last_moment_is_left_alone)
{
    AUTO(world) struct world *w = world_new(ONE);

    while (w->record_count == 0)
        world_reconcile(w);
    world_partition_add(w, "p-job-ns-0", 4, 1, true);
    world_settle(w);
    CHECK(world_partition(w, "p-job-ns-0")->is_foreign);
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-0a1b2c3d4e-0-0");
    CHECK_INT_EQ(w->record_count, 1);
}

TEST(a_partition_of_another_shape_is_another_owners)
{
    AUTO(world) struct world *w = world_new(ONE);

    while (w->record_count == 0)
        world_reconcile(w);
    world_crash(w); /* who was first cannot be told any more */
    world_partition_add(w, "p-job-ns-0", 8, 1, true);
    world_settle(w);
    CHECK(world_partition(w, "p-job-ns-0"));
    world_pass(w, 60000);
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-0a1b2c3d4e-0-0");
    CHECK_INT_EQ(w->record_count, 1);
}

/* A program may make its own partition anew; at the next start it is not what was asked for. */
TEST(a_partition_that_changed_its_shape_in_our_hands_is_replaced)
{
    AUTO(world) struct world *w = running(RESTARTS("{\"type\":\"OnFailure\"}"));

    world_partition(w, "p-job-ns-0")->gcds = 2;
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    end_all(w, 1);
    world_pass(w, 10000);
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-0a1b2c3d4e-0-1");
    CHECK_INT_EQ(w->partition_count, 1);
    CHECK_INT_EQ(w->record_count, 1);
}

TEST(a_broken_partition_is_reset)
{
    AUTO(world) struct world *w = world_new(ONE);

    for (int i = 0; i < 20 && w->partition_count == 0; i++)
        step(w);
    w->partitions[0].state = PARTITION_ERROR;
    world_list(w, w->tracks[0]);
    w->now_ms += 2000;
    world_reconcile(w);
    check_state(w, "Starting", "PartitionError",
                "Resetting partition p-job-ns-0 after an error: no reason reported");
    CHECK_INT_EQ(w->tracks[0]->call, CALL_RESET);
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}

TEST(hashed_ids_of_another_owner_are_passed_over)
{
    AUTO(world) struct world *w = world_new(ONE);

    world_partition_add(w, "p-job-ns-0", 4, 1, true);
    world_partition_add(w, "p-job-0a1b2c3d4e-0-0", 4, 1, true);
    world_settle(w);
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-0a1b2c3d4e-0-1");
    CHECK_INT_EQ(w->partition_count, 3);
}

/* Whatever it means by that: it is told, and asked more and more seldom. */
TEST(a_controller_that_has_every_id_already_is_not_asked_all_the_time)
{
    AUTO(world) struct world *w = world_new(ONE);
    uint32_t attempt = 0;

    w->partition_rejection = PARTITION_REJECTED_FOREIGN;
    for (int64_t until_ms = w->now_ms + 10 * MINUTE_MS; w->now_ms < until_ms; w->now_ms += 100) {
        world_settle(w);
        for (size_t i = 0; i < w->record_count; i++)
            CHECK(parse_u32(json_str(w->records[i], "data/attempt", ""), 0, UINT32_MAX, &attempt));
    }
    CHECK(attempt > 5);
    CHECK(attempt < 25);
    CHECK_STR_EQ(world_said(w, "reason"), "CreatingPartition");
    CHECK_HAS(world_said(w, "lastMessage"), "is in use by another owner; choosing another ID");
    w->partition_rejection = PARTITION_NOT_REJECTED;
    world_pass(w, 2 * MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_INT_EQ(w->record_count, 1);
}

TEST(what_was_made_in_another_shape_is_given_back)
{
    AUTO(world) struct world *w = world_new(ONE);

    w->lists_other_gcds = true;
    for (int64_t until_ms = w->now_ms + 10 * MINUTE_MS; w->now_ms < until_ms; w->now_ms += 100) {
        world_settle(w);
        CHECK(w->partition_count <= w->record_count);
    }
    CHECK_STR_EQ(world_said(w, "reason"), "PartitionLost");
    w->lists_other_gcds = false;
    world_pass(w, 2 * MINUTE_MS);
    world_pass(w, 2 * MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_INT_EQ(w->partition_count, 1);
}

TEST(a_reset_that_is_rejected_is_reported_and_then_another_partition_is_made)
{
    AUTO(world) struct world *w = running(RESTARTS("{\"type\":\"OnFailure\"}"));

    w->resets_are_rejected = true;
    end_all(w, 1);
    world_pass(w, 12000);
    check_state(w, "Starting", "PartitionError",
                "Waiting to reset partition p-job-ns-0 before starting pods: not allowed");
    world_pass(w, WORLD_TROUBLE_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-0a1b2c3d4e-0-1");
    CHECK_INT_EQ(world_number(w, "restartCount"), 1);
}

/* Its partition may be there: the program has the time that it was given, and no more. */
TEST(pods_whose_record_is_deleted_end_in_their_time)
{
    AUTO(world) struct world *w = running(ONE);
    struct wpod *silent = pod(w, "job-worker-0");

    fall_silent(silent);
    cJSON_Delete(w->records[0]);
    w->record_count = 0;
    world_reconcile(w);
    CHECK(silent->deleting);
    world_pass(w, 30000);
    CHECK(silent->exists);
    check_state(w, "Starting", "StoppingOldPods", "Waiting for pods of the previous attempt to terminate");
    world_pass(w, 10000);
    CHECK(!silent->exists);
    CHECK_INT_EQ(w->record_count, 1);
}

/* Whoever deletes it again and again is not kept busy. */
TEST(pods_that_a_user_deletes_come_back_with_growing_delay)
{
    AUTO(world) struct world *w = running(ONE);
    unsigned runs = 0;

    for (int64_t until_ms = w->now_ms + 10 * MINUTE_MS; w->now_ms < until_ms; w->now_ms += 100) {
        struct wpod *it = world_pod(w, "job-worker-0");

        if (it && !it->deleting) {
            world_pod_delete(w, it);
            runs++;
        }
        world_settle(w);
    }
    CHECK(runs > 5);
    CHECK(runs < 25);
}

/* It is told once, and not anew with each try. */
TEST(a_partition_that_resets_do_not_mend_is_replaced)
{
    AUTO(world) struct world *w = world_new(ONE);

    for (int i = 0; i < 20 && w->partition_count == 0; i++)
        step(w);
    w->partitions[0].is_beyond_repair = true;
    world_settle(w);
    world_pass(w, 2000);
    for (unsigned i = 0; i < WORLD_TROUBLE_MS / 1000 - 1; i++) {
        CHECK_INT_EQ(w->partitions[0].resets, 1 + i); /* once a second, and not all the time */
        world_pass(w, 1000);
        check_state(w, "Starting", "PartitionError",
                    "Resetting partition p-job-ns-0 after an error: no reason reported");
        CHECK_STR_EQ(json_str(json_at(w->status, "partitions")->child, "state", ""), "Error");
    }
    world_pass(w, 2000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-0a1b2c3d4e-0-1");
    CHECK_INT_EQ(w->partition_count, 1);
}

/* Nobody has answered for a pod: it may come while the partition is being reset. */
TEST(a_broken_partition_is_not_reset_while_a_pod_may_still_come)
{
    AUTO(world) struct world *w = world_new(ONE);

    for (int i = 0; i < 20 && w->partition_count == 0; i++)
        step(w);
    w->partitions[0].state = PARTITION_ERROR;
    world_list(w, w->tracks[0]);
    w->tracks[0]->view.pods_until_ms = w->now_ms + MINUTE_MS;
    w->now_ms += MINUTE_MS - 1;
    world_reconcile(w);
    CHECK_STR_EQ(world_said(w, "reason"), "PartitionError");
    CHECK_INT_EQ(w->tracks[0]->call, CALL_NONE);
    w->now_ms++;
    world_reconcile(w);
    CHECK_INT_EQ(w->tracks[0]->call, CALL_RESET);
}

/* As it was before the second of two pods was created, when the partition breaks or goes. */
static struct world *broken_between_two_pods(enum partition_state state)
{
    struct world *w = running(TWO_WORKERS);
    struct wpod *second = pod(w, "job-worker-1");

    second->exists = second->process = false;
    world_worker(w->tracks[0], 1)->state = WORKER_NEVER_SEEN;
    w->tracks[0]->started = false;
    json_put_str(json_at_mut(w->records[0], "data"), "started", "false");
    world_partition_disturb(w, "p-job-ns-0", state);
    world_list(w, w->tracks[0]);
    return w;
}

static const enum partition_state broken_states[] = {PARTITION_ERROR, PARTITION_ABSENT};

TEST(a_partition_that_breaks_between_two_pods_makes_them_start_over_together)
{
    CHECK_ROWS (state, broken_states) {
        AUTO(world) struct world *w = broken_between_two_pods(*state);

        world_reconcile(w);
        CHECK(pod(w, "job-worker-0")->stopped_ms);
        world_pass(w, 1000);
        CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
        CHECK_INT_EQ(pod(w, "job-worker-0")->run, 1);
        CHECK_INT_EQ(pod(w, "job-worker-1")->run, 1);
    }
}

/* The API server never answered whether it took the second of two pods. */
TEST(a_pod_that_may_still_arrive_is_waited_for_before_the_next_run)
{
    AUTO(world)
    struct world *w = running(SPEC("\"jobInstances\":1,\"workersPerJobInstance\":2,"
                                   "\"restartPolicy\":{\"type\":\"OnFailure\"},"));
    struct wpod *second = pod(w, "job-worker-1");

    second->exists = second->process = false;
    world_worker(w->tracks[0], 1)->state = WORKER_NEVER_SEEN;
    w->tracks[0]->started = false;
    json_put_str(json_at_mut(w->records[0], "data"), "started", "false");
    w->tracks[0]->view.quiet = w->tracks[0]->view.outcome_unknown = true;
    w->tracks[0]->view.settle_at_ms = w->now_ms + WORLD_STRAY_MS;
    world_pod_end(w, pod(w, "job-worker-0"), 1);
    world_pass(w, WORLD_STRAY_MS - 1000);
    CHECK_INT_EQ(w->tracks[0]->run, 0);
    world_pass(w, 1000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_INT_EQ(pod(w, "job-worker-1")->run, 1);
}

TEST(a_partition_that_breaks_when_the_first_pod_has_ended_already_is_replaced)
{
    CHECK_ROWS (state, broken_states) {
        AUTO(world) struct world *w = broken_between_two_pods(*state);

        world_pod_end(w, pod(w, "job-worker-0"), 0);
        world_pass(w, 1000);
        CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
        CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-0a1b2c3d4e-0-1");
        CHECK(!world_partition(w, "p-job-ns-0"));
    }
}

TEST(a_partition_that_vanished_is_made_again_for_the_next_run)
{
    AUTO(world) struct world *w = running(RESTARTS("{\"type\":\"OnFailure\"}"));

    world_partition_disturb(w, "p-job-ns-0", PARTITION_ABSENT);
    world_settle(w);
    end_all(w, 1);
    world_pass(w, 10000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK(world_partition(w, "p-job-ns-0"));
}

/* ---- a template that changes ---- */

#define ROLLS(instances, strategy, image)                                                                    \
    "{\"jobInstances\":" instances ",\"ipusPerJobInstance\":\"4\",\"workers\":{" strategy                    \
    "\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"" image "\"}]}}}}"
#define STRATEGY(surge, unavailable)                                                                         \
    "\"strategy\":{\"rollingUpdate\":{\"maxSurge\":" surge ",\"maxUnavailable\":" unavailable "}},"
#define RECREATE "\"strategy\":{\"type\":\"Recreate\"},"

static void change_template(struct world *w, const char *spec)
{
    struct err err = {0};
    AUTO(json) cJSON *parsed = json_parse(slice_of(spec), &err);
    AUTO(mem) char *workers = json_print(json_at(parsed, "workers"));

    world_set_spec(w, "workers", workers);
}

static bool is_up(const struct wpod *pod)
{
    return pod->exists && pod->report != REPORT_ENDED && !world_pod_must_obey(pod);
}

/* How many pods there are of a template, by its image. */
static unsigned pods_of(struct world *w, const char *spec)
{
    AUTO(world) struct world *other = world_new(spec);
    struct snapshot *snapshot = world_observe(other);
    uint64_t revision = snapshot_view(snapshot)->job->revision;
    unsigned count = 0;

    snapshot_free(snapshot);
    for (size_t i = 0; i < w->pod_count; i++)
        count += is_up(w->pods[i]) && w->pods[i]->revision == revision;
    return count;
}

static unsigned pods_up(const struct world *w)
{
    unsigned count = 0;

    for (size_t i = 0; i < w->pod_count; i++)
        count += is_up(w->pods[i]) && w->pods[i]->report == REPORT_RUNNING;
    return count;
}

/* Of the instances that should run, the message counts those that have pods of the new template. */
static void check_rollout_counter(struct world *w, const char *to, unsigned instances)
{
    static const char intro[] = "rolling update: ";
    const char *at = strstr(world_said(w, "lastMessage"), intro);
    unsigned updated, all;

    if (!at)
        return;
    CHECK_INT_EQ(sscanf(at + strlen(intro), "%u of %u instances updated", &updated, &all), 2);
    CHECK_INT_EQ(all, instances);
    CHECK(updated <= pods_of(w, to));
}

/* Rolls out `to` one step at a time, and returns the fewest pods that ran meanwhile. */
static unsigned roll_out(struct world *w, const char *to, unsigned instances)
{
    unsigned fewest = pods_up(w);

    change_template(w, to);
    for (int i = 0; i < 200 && (pods_of(w, to) < instances || pods_up(w) < instances); i++) {
        world_advance(w);
        check_rollout_counter(w, to, instances);
        if (pods_up(w) < fewest)
            fewest = pods_up(w);
    }
    world_settle(w);
    CHECK_INT_EQ(pods_of(w, to), instances);
    return fewest;
}

TEST(a_changed_template_is_rolled_out_one_instance_at_a_time)
{
    AUTO(world) struct world *w = running(ROLLS("3", "", "old"));

    CHECK_INT_EQ(roll_out(w, ROLLS("3", "", "new"), 3), 2);
    check_state(w, "Running", "Running", "3 of 3 instances running, 0 done");
    CHECK_INT_EQ(world_number(w, "restartCount"), 0);
    CHECK_INT_EQ(w->partition_count, 3);
    CHECK_STR_EQ(pod(w, "job-worker-2")->partition, "p-job-ns-2");
    check_idle(w);
    end_all(w, 0);
    check_completed(w);
}

TEST(a_rollout_keeps_within_its_bounds)
{
    static const struct {
        const char *from, *to;
        unsigned instances, fewest;
    } rows[] = {
        {ROLLS("4", STRATEGY("0", "2"), "old"), ROLLS("4", STRATEGY("0", "2"), "new"), 4, 2},
        {ROLLS("4", STRATEGY("0", "\"25%\""), "old"), ROLLS("4", STRATEGY("0", "\"25%\""), "new"), 4, 3},
        {ROLLS("2", STRATEGY("0", "\"25%\""), "old"), ROLLS("2", STRATEGY("0", "\"25%\""), "new"), 2, 1},
        {ROLLS("2", STRATEGY("1", "0"), "old"), ROLLS("2", STRATEGY("1", "0"), "new"), 2, 2},
        {ROLLS("3", STRATEGY("\"50%\"", "0"), "old"), ROLLS("3", STRATEGY("\"50%\"", "0"), "new"), 3, 3},
        {ROLLS("3", RECREATE, "old"), ROLLS("3", RECREATE, "new"), 3, 0},
    };

    CHECK_ROWS (row, rows) {
        AUTO(world) struct world *w = running(row->from);

        CHECK_INT_EQ(roll_out(w, row->to, row->instances), row->fewest);
        CHECK_INT_EQ(w->partition_count, row->instances); /* those beside have gone */
        CHECK_INT_EQ(w->record_count, row->instances);
        check_idle(w);
        end_all(w, 0);
        check_completed(w);
    }
}

TEST(recreate_starts_no_pod_before_all_have_stopped)
{
    AUTO(world) struct world *w = running(ROLLS("2", RECREATE, "old"));

    change_template(w, ROLLS("2", RECREATE, "new"));
    step(w);
    CHECK(pod(w, "job-worker-0")->stopped_ms && pod(w, "job-worker-1")->stopped_ms);
    world_pod_obey(w, pod(w, "job-worker-0"), 143);
    for (int i = 0; i < 5; i++)
        step(w);
    check_log_is_kept(w, "job-worker-0");
    check_state(w, "Starting", "RollingUpdate",
                "0 of 2 instances running, 0 done; Updating instance 0 to the new pod template; rolling "
                "update: 0 of 2 instances updated");
    world_settle(w);
    CHECK_INT_EQ(pods_of(w, ROLLS("2", RECREATE, "new")), 2);
}

TEST(a_rollout_without_a_spare_partition_says_so_and_goes_on_when_there_is_one)
{
    static const char from[] = ROLLS("1", STRATEGY("1", "0"), "old"),
                      to[] = ROLLS("1", STRATEGY("1", "0"), "new");
    AUTO(world) struct world *w = running(from);

    w->no_grants = true;
    change_template(w, to);
    world_settle(w);
    world_pass(w, MINUTE_MS);
    check_state(w, "Running", "Running",
                "Running; rolling update: 0 of 1 instances updated; no partition available for maxSurge: "
                "Waiting for IPUs");
    CHECK_INT_EQ(pods_of(w, from), 1);
    w->no_grants = false;
    world_settle(w);
    CHECK_INT_EQ(pods_of(w, to), 1);
    CHECK_INT_EQ(w->partition_count, 1);
}

TEST(scaling_a_job_that_has_ended_changes_nothing_and_says_so_once)
{
    AUTO(world) struct world *w = running(ONE);
    unsigned events;

    end_all(w, 0);
    check_completed(w);
    events = w->events;
    world_set_spec(w, "jobInstances", "3");
    world_settle(w);
    check_completed(w);
    CHECK_INT_EQ(w->events, events + 1);
    CHECK(!world_pod(w, "job-worker-1"));
    check_idle(w);
}

TEST(a_rollout_can_be_turned_back)
{
    static const char from[] = ROLLS("3", "", "old");
    AUTO(world) struct world *w = running(from);

    change_template(w, ROLLS("3", "", "broken"));
    for (int i = 0; i < 200 && pods_of(w, from) == 3; i++)
        world_advance(w);
    CHECK_INT_EQ(roll_out(w, from, 3), 2);
    check_idle(w);
}

TEST(an_instance_that_has_ended_is_not_replaced)
{
    AUTO(world) struct world *w = running(ROLLS("2", "", "old"));

    world_pod_end(w, pod(w, "job-worker-0"), 0);
    world_settle(w);
    change_template(w, ROLLS("2", "", "new"));
    world_settle(w);
    CHECK_INT_EQ(pods_of(w, ROLLS("2", "", "new")), 1);
    end_all(w, 0);
    check_completed(w);
}

/* ---- a partition that breaks while its pods run ---- */

TEST(a_partition_that_breaks_fails_a_job_that_does_not_restart)
{
    static const struct {
        enum partition_state state;
        const char *reason, *message;
    } rows[] = {
        {PARTITION_ERROR, "PartitionError", "Partition p-job-ns-0 is in error: no reason reported by V-IPU"},
        {PARTITION_ABSENT, "PartitionMissing",
         "Partition p-job-ns-0 no longer exists on V-IPU controller vipu:8090; it was not removed by the "
         "operator"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(world) struct world *w = running(ONE);

        world_partition_disturb(w, "p-job-ns-0", row->state);
        world_settle(w);
        CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running"); /* V-IPU may reset it by itself */
        world_pass(w, WORLD_TROUBLE_MS);
        check_state(w, "Failed", row->reason, row->message);
        check_nothing_held(w);
    }
}

TEST(the_end_names_a_partition_that_broke_long_before)
{
    AUTO(world) struct world *w = running(SPEC("\"jobInstances\":2,"));
    const cJSON *failure;

    world_partition_disturb(w, "p-job-ns-1", PARTITION_ERROR);
    world_settle(w);
    world_pass(w, WORLD_TROUBLE_MS);
    check_state(w, "Running", "Running", "1 of 2 instances running, 0 done, 1 failed");
    failure = json_at(w->status, "failures")->child;
    CHECK_STR_EQ(json_str(failure, "reason", ""), "PartitionError");
    CHECK_STR_EQ(json_str(failure, "pod", ""), "job-worker-1");
    end_all(w, 0);
    check_state(w, "Failed", "InstanceFailed",
                "1 of 2 instances failed: Partition p-job-ns-1 is in error: no reason reported by V-IPU (see "
                "status.failures)");
    check_nothing_held(w);
}

TEST(a_partition_that_breaks_restarts_a_job_as_often_as_allowed)
{
    CHECK_ROWS (state, broken_states) {
        AUTO(world) struct world *w = running(RESTARTS("{\"type\":\"OnFailure\",\"backOffLimit\":1}"));

        world_partition_disturb(w, "p-job-ns-0", *state);
        world_pass(w, WORLD_TROUBLE_MS);
        world_pass(w, WORLD_TROUBLE_MS);
        CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
        CHECK_INT_EQ(world_number(w, "restartCount"), 1);
        CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-ns-0");
        check_idle(w);
        world_partition_disturb(w, "p-job-ns-0", *state);
        world_pass(w, WORLD_TROUBLE_MS);
        world_pass(w, WORLD_TROUBLE_MS);
        CHECK_STR_EQ(world_said(w, "launcherStatus"), "Failed");
        check_nothing_held(w);
    }
}

TEST(a_partition_that_is_well_again_in_time_is_no_trouble)
{
    AUTO(world) struct world *w = running(ONE);
    struct wpod *first = pod(w, "job-worker-0");

    world_partition_disturb(w, "p-job-ns-0", PARTITION_ERROR);
    world_settle(w);
    world_pass(w, WORLD_TROUBLE_MS / 2);
    w->partitions[0].state = PARTITION_ACTIVE;
    world_settle(w);
    world_pass(w, 2 * WORLD_TROUBLE_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK(pod(w, "job-worker-0") == first);
}

TEST(a_partition_that_no_controller_makes_fails_the_job_until_the_spec_changes)
{
    AUTO(world) struct world *w = world_new(ONE);

    w->partition_rejection = PARTITION_REJECTED_INVALID;
    world_settle(w);
    check_state(w, "Failed", "PartitionRejected",
                "V-IPU controller vipu:8090 rejected the partition: no such shape");
    check_nothing_held(w);
    check_idle(w);
    w->partition_rejection = PARTITION_NOT_REJECTED;
    world_pass(w, MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Failed");
    world_set_spec(w, "partition", "{\"routing\":\"dnc\"}");
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK(!json_at(w->status, "completionTime"));
}

/* What cannot be mended without another spec ends the instances that do run, too. */
TEST(a_rejected_instance_ends_the_others)
{
    AUTO(world) struct world *w = running(ONE);

    w->partition_rejection = PARTITION_REJECTED_INVALID;
    world_set_spec(w, "jobInstances", "2");
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "reason"), "PartitionRejected");
    CHECK_INT_EQ(world_number(w, "currentReplicas"), 0);
    CHECK_INT_EQ(world_number(w, "workersStatus/active"), 0);
    check_nothing_held(w);
    w->partition_rejection = PARTITION_NOT_REJECTED;
    world_set_spec(w, "jobInstances", "1");
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}

TEST(a_broken_instance_does_not_hide_why_another_cannot_start)
{
    AUTO(world) struct world *w = running(SPEC("\"jobInstances\":2,"));

    world_pod_end(w, pod(w, "job-worker-0"), 1);
    world_settle(w);
    w->partition_rejection = PARTITION_REJECTED_INVALID;
    world_set_spec(w, "jobInstances", "3");
    world_settle(w);
    check_state(w, "Failed", "PartitionRejected",
                "V-IPU controller vipu:8090 rejected the partition: no such shape");
}

TEST(a_controller_that_does_not_answer_is_reported_and_waited_for)
{
    AUTO(world) struct world *w = world_new(ONE);

    while (w->record_count == 0)
        world_reconcile(w);
    w->tracks[0]->view.trouble = "connection refused";
    w->controller_down = true;
    w->now_ms += 2000;
    world_settle(w);
    check_state(w, "Pending", "ControllerUnavailable", "V-IPU controller vipu:8090: connection refused");
    check_idle(w);
    w->controller_down = false;
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}

TEST(a_deleted_job_that_another_finalizer_keeps_says_so)
{
    AUTO(world) struct world *w = running(ONE);

    w->other_finalizer = "example.com/backup";
    world_delete_job(w);
    world_settle(w);
    CHECK_INT_EQ(w->record_count, 0);
    CHECK(w->exists && !w->finalizer);
    check_state(w, "Terminating", "Terminating",
                "Deleting: all is released; the object remains until its other finalizers are removed: "
                "example.com/backup");
}

TEST(finalizers_that_are_too_many_lose_none)
{
    AUTO(world) struct world *w = running(ONE);
    AUTO(mem) char *many = mem_alloc(JOB_FINALIZERS_MAX + 1);

    memset(many, 'x', JOB_FINALIZERS_MAX);
    w->other_finalizer = many;
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running"); /* what is accepted once goes on */
    world_delete_job(w);
    world_settle(w);
    CHECK_INT_EQ(w->record_count, 0);
    CHECK(w->exists && w->finalizer);
    check_state(w, "Terminating", "Terminating",
                "Deleting: all is released; the object remains until its other finalizers are removed: they "
                "have more than 16 KiB");
    w->other_finalizer = NULL;
    world_settle(w);
    CHECK(!w->exists);
}

TEST(an_unknown_outcome_is_waited_out_before_the_id_is_free)
{
    AUTO(world) struct world *w = running(ONE);

    world_delete_job(w);
    reconcile_until_call(w, CALL_REMOVE);
    world_call_end(w, w->tracks[0], FATE_DONE_UNKNOWN);
    world_settle(w);
    CHECK_INT_EQ(w->partition_count, 0);
    CHECK_INT_EQ(w->again_at_ms, w->now_ms + WORLD_STRAY_MS);
    world_pass(w, WORLD_STRAY_MS - 1);
    CHECK(w->exists);
    CHECK_INT_EQ(w->record_count, 1);
    world_pass(w, 2);
    CHECK(!w->exists);
}

/* ---- templates and pods that the API server does not take ---- */

TEST(a_rejected_template_takes_no_ipus_and_is_judged_again_when_the_spec_changes)
{
    AUTO(world) struct world *w = world_new(ONE);

    w->dry_run_answer = DRY_RUN_INVALID;
    w->rejection = "spec.workers.template.spec.containers[0].image: Required value";
    world_settle(w);
    check_state(w, "Failed", "InvalidPodTemplate", w->rejection);
    check_nothing_held(w);
    check_idle(w);
    w->dry_run_answer = DRY_RUN_NEEDED;
    w->rejection = NULL;
    world_pass(w, MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Failed");
    world_set_spec(w, "suspend", "false");
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}

TEST(a_forbidden_template_waits_without_ipus_and_is_asked_about_again)
{
    AUTO(world) struct world *w = world_new(SPEC("\"jobInstances\":2,"));
    unsigned reported;

    w->dry_run_answer = DRY_RUN_REJECTED;
    w->rejection = "exceeded quota: pods";
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "reason"), "QuotaExceeded");
    CHECK_HAS(world_said(w, "lastMessage"), "The API server rejected the pods: exceeded quota: pods");
    CHECK_INT_EQ(w->again_at_ms, w->now_ms + 10000);
    CHECK_INT_EQ(w->record_count, 0);
    reported = w->status_writes;
    for (int i = 0; i < 12; i++)
        world_pass(w, 10000);
    CHECK_INT_EQ(w->status_writes, reported);
    w->dry_run_answer = DRY_RUN_NEEDED;
    w->rejection = NULL;
    world_pass(w, 10000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}

TEST(pods_that_are_rejected_although_the_template_passed_are_tried_again)
{
    AUTO(world) struct world *w = world_new(ONE);
    unsigned reported;

    w->rejection = "exceeded quota: pods";
    world_settle(w);
    world_pass(w, 1000);
    check_state(w, "Pending", "FailedCreate",
                "Instance 0 could not start; IPUs released until the next try: exceeded quota: pods");
    reported = w->status_writes;
    for (int i = 0; i < 12; i++)
        world_pass(w, 10000);
    CHECK_INT_EQ(w->status_writes, reported);
    w->rejection = NULL;
    world_pass(w, 10000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}

/* ---- bad specs ---- */

TEST(an_invalid_spec_creates_nothing_and_is_judged_again)
{
    AUTO(world)
    struct world *w =
        world_new("{\"jobInstances\":1,\"ipusPerJobInstance\":\"3\",\"restartPolicy\":{\"type\":"
                  "\"Now\"}," TEMPLATE "}");

    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Failed");
    CHECK_STR_EQ(world_said(w, "reason"), "InvalidSpec");
    CHECK_HAS(world_said(w, "lastMessage"),
              "spec.ipusPerJobInstance: Invalid value: \"3\": must be a power of two");
    CHECK_HAS(world_said(w, "lastMessage"), "; spec.restartPolicy.type: Unsupported value: \"Now\"");
    check_nothing_held(w);
    check_idle(w);
    world_set_spec(w, "ipusPerJobInstance", "\"4\"");
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "reason"), "InvalidSpec");
    CHECK(!strstr(world_said(w, "lastMessage"), "ipusPerJobInstance"));
    world_set_spec(w, "restartPolicy", "{\"type\":\"Never\"}");
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}

TEST(a_finished_job_stays_finished_when_its_spec_is_spoilt)
{
    AUTO(world) struct world *w = running(ONE);

    world_pod_end(w, pod(w, "job-worker-0"), 0);
    while (!json_at(w->status, "completionTime"))
        world_reconcile(w);
    CHECK_INT_EQ(w->partition_count, 1); /* told, but not given back yet */
    world_set_spec(w, "jobInstances", "-1");
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Completed");
    CHECK(world_pod(w, "job-worker-0")); /* and its log */
    check_nothing_held(w);
}

TEST(a_spoilt_spec_can_be_deleted)
{
    AUTO(world) struct world *w = running(ONE);

    world_set_spec(w, "ipusPerJobInstance", "\"3\"");
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "reason"), "InvalidSpec");
    world_delete_job(w);
    for (size_t i = 0; i < w->pod_count; i++)
        world_pod_delete(w, w->pods[i]); /* the garbage collector, for its owner goes */
    world_settle(w);
    CHECK(!w->exists);
    check_nothing_held(w);
}

/* ---- suspend, scale, delete ---- */

TEST(a_suspended_job_holds_no_ipus_and_runs_again)
{
    AUTO(world) struct world *w = running(ONE);

    world_set_spec(w, "suspend", "true");
    world_settle(w);
    check_state(w, "Suspended", "Suspended", "Suspended; no IPUs held. Set spec.suspend to false to resume");
    CHECK_INT_EQ(w->partition_count, 0);
    check_log_is_kept(w, "job-worker-0");
    CHECK_INT_EQ(world_number(w, "currentReplicas"), 0);
    check_idle(w);
    world_set_spec(w, "suspend", "false");
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-ns-0");
    CHECK_INT_EQ(world_number(w, "restartCount"), 0);
}

/* An admin who reads this may uninstall the operator at once: see uninstall_check.c. */
TEST(a_suspended_job_says_that_it_holds_nothing_when_its_record_has_gone)
{
    AUTO(world) struct world *w = running(ONE);

    world_set_spec(w, "suspend", "true");
    for (int i = 0; i < 50 && world_held(w); i++) {
        step(w);
        pods_obey(w);
        CHECK(world_held(w) == 0 || world_number(w, "partitionCounts/total") == 1);
    }
    CHECK_INT_EQ(world_held(w), 0);
    CHECK_INT_EQ(world_number(w, "partitionCounts/total"), 1);
    world_reconcile(w);
    CHECK_INT_EQ(world_number(w, "partitionCounts/total"), 0);
    check_state(w, "Suspended", "Suspended", "Suspended; no IPUs held. Set spec.suspend to false to resume");
}

TEST(a_suspended_job_says_at_once_that_its_controller_is_silent)
{
    AUTO(world) struct world *w = running(ONE);

    world_set_spec(w, "suspend", "true");
    w->controller_down = true;
    world_settle(w);
    w->tracks[0]->view.trouble = "no answer within 4 s";
    world_settle(w);
    check_state(w, "Suspended", "ControllerUnavailable",
                "Suspending: releasing partition p-job-ns-0 on V-IPU controller vipu:8090; last response: "
                "no answer within 4 s");
    w->tracks[0]->view.trouble = NULL;
    w->controller_down = false;
    world_settle(w);
    check_state(w, "Suspended", "Suspended", "Suspended; no IPUs held. Set spec.suspend to false to resume");
}

TEST(a_job_created_suspended_starts_nothing)
{
    AUTO(world) struct world *w = world_new(SPEC("\"jobInstances\":1,\"suspend\":true,"));

    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Suspended");
    CHECK_INT_EQ(w->pod_count, 0);
    check_nothing_held(w);
}

/* A removal may be slow: what it hits must not be used again. */
TEST(a_job_resumed_in_the_middle_of_a_removal_gets_another_partition)
{
    AUTO(world) struct world *w = running(ONE);

    world_set_spec(w, "suspend", "true");
    reconcile_until_call(w, CALL_REMOVE);
    world_pod_delete(w, pod(w, "job-worker-0")); /* else it waits for that, and the removal is over by then */
    world_set_spec(w, "suspend", "false");
    world_settle(w);
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-0a1b2c3d4e-0-1");
    CHECK_INT_EQ(w->partition_count, 1);
    end_all(w, 0);
    check_completed(w);
}

TEST(suspended_and_resumed_often_a_job_leaves_nothing)
{
    AUTO(world) struct world *w = running(SPEC("\"jobInstances\":2,"));

    for (int i = 0; i < 20; i++) {
        world_set_spec(w, "suspend", "true");
        world_settle(w);
        CHECK_STR_EQ(world_said(w, "launcherStatus"), "Suspended");
        CHECK_INT_EQ(w->partition_count, 0);
        CHECK_INT_EQ(w->record_count, 0);
        CHECK_INT_EQ(w->track_count, 0);
        world_set_spec(w, "suspend", "false");
        world_settle(w);
        CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    }
    CHECK_INT_EQ(world_number(w, "restartCount"), 0);
    CHECK_INT_EQ(w->partition_count, 2);
    end_all(w, 0);
    check_completed(w);
}

TEST(instances_removed_while_suspended_leave_no_orphan)
{
    AUTO(world) struct world *w = running(SPEC("\"jobInstances\":3,"));

    world_pod_end(w, pod(w, "job-worker-2"), 0); /* its log is kept */
    world_settle(w);
    world_set_spec(w, "suspend", "true");
    world_set_spec(w, "jobInstances", "1");
    world_settle(w);
    CHECK_INT_EQ(w->partition_count, 0);
    CHECK_INT_EQ(w->record_count, 0);
    world_set_spec(w, "suspend", "false");
    world_settle(w);
    CHECK_INT_EQ(pod(w, "job-worker-0")->report, REPORT_RUNNING);
    check_log_is_kept(w, "job-worker-1");
    check_log_is_kept(w, "job-worker-2");
    CHECK_INT_EQ(w->partition_count, 1);
}

TEST(a_job_that_ends_is_reported_once)
{
    AUTO(world) struct world *w = running(ONE);
    unsigned reported = 0;

    end_all(w, 0);
    world_crash(w);
    world_settle(w);
    for (size_t i = 0; i < w->event_reasons.count; i++)
        reported += str_eq(w->event_reasons.items[i], "Completed");
    CHECK_INT_EQ(reported, 1);
    check_completed(w);
}

TEST(finished_pods_of_a_suspended_job_keep_their_logs)
{
    AUTO(world) struct world *w = running(SPEC("\"jobInstances\":2,"));

    world_pod_end(w, pod(w, "job-worker-0"), 0);
    world_settle(w);
    world_set_spec(w, "suspend", "true");
    world_settle(w);
    check_log_is_kept(w, "job-worker-0");
    check_log_is_kept(w, "job-worker-1");
    CHECK_STR_EQ(world_said(w, "completedIndexes"), "0");
    world_set_spec(w, "suspend", "false");
    world_settle(w);
    end_all(w, 0);
    check_completed(w);
    CHECK_INT_EQ(w->pod_count, 3); /* the one that had ended was not started again */
}

TEST(a_suspended_job_with_a_stuck_pod_gives_its_ipus_back_after_the_hold)
{
    AUTO(world) struct world *w = running(ONE);

    struct wpod *stuck = pod(w, "job-worker-0");

    fall_silent(stuck);
    world_set_spec(w, "suspend", "true");
    world_settle(w);
    check_state(w, "Suspended", "Suspended", "Suspending: waiting for pods of instance 0 to terminate");
    CHECK(stuck->stopped_ms && !stuck->deleting);
    CHECK_INT_EQ(w->again_at_ms, w->now_ms + MINUTE_MS);
    world_pass(w, MINUTE_MS); /* its grace period and what a kubelet needs */
    CHECK(stuck->deleting);
    world_pass(w, MINUTE_MS);
    CHECK_HAS(world_said(w, "lastMessage"), "Suspending: holding partition p-job-ns-0 until ");
    CHECK_INT_EQ(w->again_at_ms, w->now_ms + WORLD_HOLD_MS - 2 * MINUTE_MS);
    world_pass(w, WORLD_HOLD_MS - 2 * MINUTE_MS - 1);
    CHECK_INT_EQ(w->partition_count, 1);
    world_pass(w, 1);
    CHECK_INT_EQ(w->partition_count, 0);
    world_set_spec(w, "suspend", "false");
    world_settle(w);
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-0a1b2c3d4e-0-1");
}

/* Whoever may change pods may write when the operator stopped one. */
TEST(a_stuck_pod_that_was_stopped_in_the_future_is_deleted_all_the_same)
{
    AUTO(world) struct world *w = running(ONE);
    struct wpod *stuck = pod(w, "job-worker-0");

    fall_silent(stuck);
    stuck->stopped_ms = w->now_ms + 1000 * MINUTE_MS;
    world_set_spec(w, "suspend", "true");
    world_settle(w);
    CHECK_INT_EQ(stuck->stopped_ms, w->now_ms);
    world_pass(w, MINUTE_MS);
    CHECK(stuck->deleting);
}

TEST(a_deleted_job_frees_its_partition_before_it_goes)
{
    AUTO(world) struct world *w = running(ONE);
    struct wpod *old = pod(w, "job-worker-0");

    world_delete_job(w);
    world_reconcile(w);
    check_state(w, "Terminating", "Terminating", "Deleting: waiting for pods of instance 0 to terminate");
    CHECK(old->deleting);
    CHECK_INT_EQ(w->partition_count, 1);
    world_settle(w);
    CHECK(!w->exists);
    check_nothing_held(w);
}

/* The creation of a record got no answer: the record may exist, and show when the job has gone. */
static struct world *with_pending_record(void)
{
    struct world *w = world_new(ONE);

    w->no_grants = true;
    world_settle(w);
    w->pending_record = "p-job-ns-0";
    w->pending_until_ms = w->now_ms + MINUTE_MS;
    return w;
}

TEST(a_deleted_job_stays_while_its_record_may_still_come)
{
    AUTO(world) struct world *w = with_pending_record();

    world_delete_job(w);
    world_pass(w, MINUTE_MS - 1000);
    check_state(w, "Terminating", "Terminating",
                "Deleting: waiting for an earlier request for the record of partition p-job-ns-0 to expire");
    world_pass(w, 1000);
    CHECK(!w->exists);
}

TEST(a_suspended_job_may_still_get_a_record)
{
    AUTO(world) struct world *w = with_pending_record();

    world_set_spec(w, "suspend", "true");
    world_pass(w, 1000);
    check_state(
        w, "Suspended", "Suspended",
        "Suspending: waiting for an earlier request for the record of partition p-job-ns-0 to expire");
    for (int minute = 0; minute < 2; minute++) /* a changed message alone is written once a minute */
        world_pass(w, MINUTE_MS);
    check_state(w, "Suspended", "Suspended", "Suspended; no IPUs held" SUSPENDED_REMEDY);
}

TEST(a_deleted_job_without_anything_goes_at_once)
{
    AUTO(world) struct world *w = world_new(ONE);

    w->no_grants = true;
    world_settle(w);
    CHECK(w->finalizer);
    world_delete_job(w);
    world_settle(w);
    CHECK(!w->exists);
}

TEST(a_deleted_job_with_a_stuck_pod_goes_after_the_hold)
{
    AUTO(world) struct world *w = running(ONE);

    fall_silent(pod(w, "job-worker-0"));
    world_delete_job(w);
    world_settle(w);
    world_pass(w, WORLD_HOLD_MS - 1);
    CHECK(w->exists);
    CHECK_INT_EQ(w->partition_count, 1);
    world_pass(w, 1);
    CHECK(!w->exists);
    check_nothing_held(w);
}

/* The job has gone; a process of it may still know its partition's id. */
TEST(a_spent_id_is_kept_until_its_pod_has_ended)
{
    AUTO(world) struct world *w = running(ONE);
    struct wpod *stuck = pod(w, "job-worker-0");

    fall_silent(stuck);
    world_delete_job(w);
    world_settle(w);
    world_pass(w, WORLD_HOLD_MS);
    CHECK(!w->exists);
    CHECK_INT_EQ(w->partition_count, 0);
    CHECK(world_is_spent(w, "p-job-ns-0"));
    check_idle(w);
    world_pod_obey(w, stuck, 143);
    world_settle(w);
    CHECK(world_is_spent(w, "p-job-ns-0")); /* a removal may still be on its way */
    world_pass(w, 40000);
    CHECK_INT_EQ(w->record_count, 0);
}

/* The operator is updated and given another --partition-prefix: what was made before goes on as it is. */
TEST(ids_of_an_earlier_prefix_are_kept_from_use_like_others)
{
    AUTO(world) struct world *w = running(ONE);
    struct wpod *stuck = pod(w, "job-worker-0");

    w->prefix = "ipus";
    world_crash(w);
    check_idle(w);
    fall_silent(stuck);
    world_delete_job(w);
    world_settle(w);
    world_pass(w, WORLD_HOLD_MS);
    CHECK(!w->exists);
    CHECK(world_is_spent(w, "p-job-ns-0"));
    world_pod_obey(w, stuck, 143);
    world_pass(w, 40000);
    CHECK_INT_EQ(w->record_count, 0);
}

TEST(a_spent_id_is_free_when_its_node_has_rebooted)
{
    AUTO(world) struct world *w = running(ONE);
    struct wpod *stuck = pod(w, "job-worker-0");

    fall_silent(stuck);
    world_delete_job(w);
    world_settle(w);
    world_pass(w, WORLD_HOLD_MS);
    CHECK(world_is_spent(w, "p-job-ns-0"));
    world_pod_fence(w, stuck);
    world_pass(w, 40000);
    CHECK_INT_EQ(w->record_count, 0);
}

/* So long from now, to the second. */
static void check_spent_for(struct world *w, int64_t ms)
{
    world_pass(w, ms - 1000);
    CHECK(world_is_spent(w, "p-job-ns-0"));
    world_pass(w, 1000);
    CHECK_INT_EQ(w->record_count, 0);
}

/* The process before this one may have asked for the removal, too, just before its end. That request must not
 * hit the partition of a job that is created anew under the same name. */
TEST(an_id_is_spent_that_an_earlier_process_may_still_remove)
{
    AUTO(world) struct world *w = running(ONE);

    world_crash(w);
    end_all(w, 0);
    CHECK_INT_EQ(w->partition_count, 0);
    CHECK(world_is_spent(w, "p-job-ns-0"));
    CHECK(!w->finalizer);
    check_idle(w);
    check_spent_for(w, 40000);
}

TEST(an_id_is_free_at_once_when_no_earlier_process_can_remove_it)
{
    AUTO(world) struct world *w = running(ONE);

    world_crash(w);
    world_settle(w);
    world_pass(w, WORLD_STRAY_MS);
    end_all(w, 0);
    check_nothing_held(w);
    CHECK_INT_EQ(w->record_count, 0);
}

TEST(a_spent_id_is_kept_for_a_day_at_most)
{
    AUTO(world) struct world *w = running(ONE);

    world_pod_vanish(w, pod(w, "job-worker-0"), false);
    world_delete_job(w);
    world_settle(w);
    world_pass(w, WORLD_HOLD_MS);
    CHECK(!w->exists);
    CHECK(world_is_spent(w, "p-job-ns-0"));
    world_crash(w);
    check_spent_for(w, 86400000);
}

TEST(a_deleted_job_with_a_lost_pod_says_what_it_waits_for)
{
    AUTO(world) struct world *w = running(ONE);

    world_pod_vanish(w, pod(w, "job-worker-0"), false);
    world_delete_job(w);
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "reason"), "TerminationUnconfirmed");
    CHECK_HAS(world_said(w, "lastMessage"), "Deleting: holding partition p-job-ns-0 until ");
    world_pass(w, WORLD_HOLD_MS);
    CHECK(!w->exists);
}

TEST(a_record_whose_job_is_gone_goes_too)
{
    AUTO(world) struct world *w = running(ONE);

    world_pod_end(w, pod(w, "job-worker-0"), 0);
    w->exists = false; /* somebody removed the finalizer */
    world_settle(w);
    CHECK_INT_EQ(w->partition_count, 0);
    CHECK_INT_EQ(w->record_count, 0);
}

TEST(a_removed_instance_gives_its_ipus_back)
{
    AUTO(world) struct world *w = running(SPEC("\"jobInstances\":2,"));

    world_set_spec(w, "jobInstances", "1");
    world_settle(w);
    check_log_is_kept(w, "job-worker-1");
    CHECK_INT_EQ(w->partition_count, 1);
    CHECK_INT_EQ(w->record_count, 1);
    check_state(w, "Running", "Running", "Running");
    check_idle(w);
    world_set_spec(w, "jobInstances", "3");
    world_settle(w);
    CHECK_INT_EQ(world_number(w, "currentReplicas"), 3);
    CHECK_INT_EQ(pod(w, "job-worker-1")->report, REPORT_RUNNING); /* its name was needed */
}

TEST(scaling_a_finished_job_starts_nothing)
{
    AUTO(world) struct world *w = running(SPEC("\"jobInstances\":2,"));

    end_all(w, 0);
    check_completed(w);
    world_set_spec(w, "jobInstances", "3");
    world_settle(w);
    check_completed(w);
    CHECK_INT_EQ(w->pod_count, 2);
    world_set_spec(w, "jobInstances", "1");
    world_settle(w);
    CHECK(world_pod(w, "job-worker-1")); /* its log stays too */
}

TEST(the_clean_pod_policy_is_followed_at_the_end)
{
    static const struct {
        const char *policy;
        bool kept;
    } rows[] = {{"\"None\"", true}, {"\"Workers\"", false}, {"\"All\"", false}};

    CHECK_ROWS (row, rows) {
        AUTO(world) struct world *w = running(ONE);

        world_set_spec(w, "cleanPodPolicy", row->policy);
        end_all(w, 0);
        check_completed(w);
        CHECK_INT_EQ(world_pod(w, "job-worker-0") != NULL, row->kept);
        CHECK_INT_EQ(world_number(w, "workersStatus/succeeded"), 1);
    }
}

/* ---- whole lives, as reviewed ---- */

TEST(the_plans_of_a_life_are_as_reviewed)
{
    AUTO(world) struct world *w = world_new(TWO_BY_TWO);
    AUTO(str) struct str plans = {0};

    w->plans = &plans;
    world_settle(w);
    world_pass(w, MINUTE_MS);
    end_all(w, 0);
    golden_check("plans/life.txt", str_text(&plans));
}

TEST(the_plans_of_a_loss_are_as_reviewed)
{
    AUTO(world) struct world *w = world_new(RESTARTS("{\"type\":\"OnFailure\"}"));
    AUTO(str) struct str plans = {0};

    w->plans = &plans;
    world_settle(w);
    end_all(w, 1);
    world_pass(w, 10000);
    fall_silent(pod(w, "job-worker-0"));
    world_pod_delete(w, pod(w, "job-worker-0"));
    world_settle(w);
    world_pass(w, WORLD_HOLD_MS);
    world_delete_job(w);
    world_settle(w);
    golden_check("plans/loss.txt", str_text(&plans));
}

/* ---- what is over before anybody could read of it ---- */

TEST(a_quick_start_is_not_reported)
{
    AUTO(world) struct world *w = running(TWO_WORKERS);

    CHECK_INT_EQ(w->status_writes, 1);
    end_all(w, 0);
    check_completed(w);
    CHECK_INT_EQ(w->status_writes, 2);
}

static struct world *with_slow_pods(bool is_busy)
{
    struct world *w = world_new(TWO_WORKERS);

    w->is_busy = is_busy;
    step_until_pod(w, "job-worker-1");
    pod(w, "job-worker-0")->is_slow = pod(w, "job-worker-1")->is_slow = true;
    world_settle(w);
    CHECK_INT_EQ(w->status_writes, 0);
    return w;
}

TEST(a_slow_start_is_reported_within_a_second)
{
    AUTO(world) struct world *w = with_slow_pods(false);

    world_pass(w, 1000);
    check_state(w, "Starting", "StartingPods", "0 of 2 pods running on partition p-job-ns-0");
}

TEST(while_much_is_going_on_a_start_is_reported_later)
{
    AUTO(world) struct world *w = with_slow_pods(true);

    world_pass(w, 1000);
    CHECK_INT_EQ(w->status_writes, 0);
    CHECK_INT_EQ(w->again_at_ms, w->now_ms + 1000); /* it may be less by then */
    world_pass(w, 9000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Starting");
}

TEST(warnings_of_a_start_are_reported_at_once)
{
    AUTO(world) struct world *w = with_slow_pods(true);

    pod(w, "job-worker-1")->waits_for = "0/3 nodes are available";
    world_reconcile(w);
    CHECK_STR_EQ(world_said(w, "reason"), "Unschedulable");
}

TEST(a_job_whose_pods_are_not_ready_says_why)
{
    AUTO(world) struct world *w = running(TWO_WORKERS);
    struct wpod *first = pod(w, "job-worker-0"), *second = pod(w, "job-worker-1");
    static const char *const conditions[] = {"PodsReady", "Ready"};

    first->fails_probe = second->fails_probe = true;
    world_settle(w);
    check_state(w, "Running", "PodsNotReady",
                "2 pods are not ready, such as job-worker-0: container main runs, but does not pass its "
                "readiness or startup probe");
    for (size_t i = 0; i < COUNT_OF(conditions); i++) {
        CHECK_STR_EQ(json_str(status_condition(w->status, conditions[i]), "status", ""), "False");
        CHECK_STR_EQ(json_str(status_condition(w->status, conditions[i]), "reason", ""), "PodsNotReady");
    }
    check_idle(w);
    first->fails_probe = second->fails_probe = false;
    first->node_not_ready = true;
    world_settle(w);
    check_state(w, "Running", "NodeNotReady",
                "Pod job-worker-0 is not ready: node node-of-pod-1 has not been ready since "
                "2026-09-21T14:13:20Z");
    CHECK(strv_has(&w->event_reasons, "NodeNotReady"));
    first->node_not_ready = false;
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
}

TEST(a_deletion_names_the_node_that_does_not_report)
{
    AUTO(world) struct world *w = running(ONE);
    struct wpod *old = pod(w, "job-worker-0");

    old->node_silent = old->node_not_ready = true;
    world_delete_job(w);
    world_settle(w);
    check_state(
        w, "Terminating", "Terminating",
        "Deleting: waiting for pods of instance 0 to terminate; node node-of-pod-1 has not been ready "
        "since 2026-09-21T14:13:20Z");
    world_pass(w, MINUTE_MS);
    CHECK_HAS(world_said(w, "lastMessage"),
              "processes of pod job-worker-0 on node node-of-pod-1, which has not been ready since "
              "2026-09-21T14:13:20Z, may still be running");
}

TEST(pods_that_wait_say_why)
{
    AUTO(world) struct world *w = world_new(TWO_WORKERS);

    step_until_pod(w, "job-worker-1");
    world_pod_schedule(w, pod(w, "job-worker-0"));
    world_pod_run(w, pod(w, "job-worker-0"), true);
    w->now_ms += 1000;
    world_reconcile(w);
    check_state(w, "Starting", "StartingPods", "1 of 2 pods running on partition p-job-ns-0");
    pod(w, "job-worker-1")->waits_for = "0/3 nodes are available";
    world_reconcile(w);
    check_state(w, "Starting", "Unschedulable",
                "Pod job-worker-1 is waiting: Unschedulable: 0/3 nodes are available");
    pod(w, "job-worker-1")->waits_for = NULL;
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}
