#include "operator/reconcile/decide/model/failure.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

#define NOW_S 1790000000

static struct pod broken_pod(int code)
{
    return (struct pod){.name = (char *)(uintptr_t) "train-worker-1",
                        .node = (char *)(uintptr_t) "n1",
                        .failed_container = (char *)(uintptr_t) "main",
                        .phase = POD_FAILED,
                        .exit_code = code,
                        .failed_s = NOW_S,
                        .trouble = "ContainerFailed",
                        .message = (char *)(uintptr_t) "last words"};
}

static cJSON *merge(const cJSON *before, const struct failure *failure, int64_t start_s)
{
    return failures_merge(before, failure, 1, start_s);
}

static void check_sentence(const struct failure *failure, const char *sentence)
{
    AUTO(mem) char *text = failure_sentence(failure);

    CHECK_STR_EQ(text, sentence);
}

/* ---- what failed first ---- */

TEST(the_earliest_failure_is_the_cause)
{
    struct failure first = {0}, late = {.reason = "b", .at_s = 20}, early = {.reason = "a", .at_s = 10};

    failure_take_first(&first, &late);
    failure_take_first(&first, &early);
    CHECK_STR_EQ(first.reason, "a");
    failure_take_first(&first, &late);
    CHECK_STR_EQ(first.reason, "a");
}

/* Times are told in whole seconds. */
TEST(within_a_second_who_was_told_to_end_is_not_the_cause)
{
    struct pod ended = broken_pod(143), crashed = broken_pod(1);
    struct failure victim = failure_of_pod(&ended), cause = failure_of_pod(&crashed), first = {0};

    failure_take_first(&first, &victim);
    failure_take_first(&first, &cause);
    CHECK_INT_EQ(first.pod->exit_code, 1);
    failure_take_first(&first, &victim);
    CHECK_INT_EQ(first.pod->exit_code, 1);
    victim.at_s--; /* killed from outside, and the others missed it */
    failure_take_first(&first, &victim);
    CHECK_INT_EQ(first.pod->exit_code, 143);
}

TEST(a_pod_that_no_container_failed_in_dates_from_its_start)
{
    struct pod pod = {.name = (char *)(uintptr_t) "p", .phase = POD_FAILED, .started_s = NOW_S};
    struct failure failure = failure_of_pod(&pod);

    CHECK_STR_EQ(failure.reason, "PodFailed");
    CHECK_INT_EQ(failure.at_s, NOW_S);
}

/* ---- the policy ---- */

TEST(the_policy_decides_what_a_failure_leads_to)
{
    struct pod pod = broken_pod(42), unstarted = {.phase = POD_FAILED};
    struct failure code = failure_of_pod(&pod),
                   taken = {.reason = "Preempted", .is_disruption = true, .pod = &pod};
    struct failure rejected = failure_of_pod(&unstarted);
    static const struct {
        enum restart_type type;
        bool on_code, on_disruption, on_rejection;
    } rows[] = {
        {RESTART_NEVER, false, false, false},
        {RESTART_ALWAYS, true, true, true},
        {RESTART_ON_FAILURE, true, true, true},
        {RESTART_EXIT_CODE, true, false, false},
    };

    CHECK_ROWS (row, rows) {
        struct job_spec spec = {.restart = row->type, .exit_codes = (char *)(uintptr_t) "1-5,42"};

        CHECK_INT_EQ(failure_calls_for_restart(&spec, &code), row->on_code);
        CHECK_INT_EQ(failure_calls_for_restart(&spec, &taken), row->on_disruption);
        CHECK_INT_EQ(failure_calls_for_restart(&spec, &rejected), row->on_rejection);
    }
}

/* ---- in words ---- */

TEST(a_sentence_names_pod_container_and_code)
{
    struct pod pod = broken_pod(3), memory = broken_pod(137), evicted = broken_pod(137);
    struct failure failure = failure_of_pod(&pod),
                   taken = {.reason = "NodeLost", .pod_name = "train-worker-1"};
    struct failure none;

    check_sentence(&failure, "Container main of pod train-worker-1 exited with code 3");
    pod.exit_code = 139;
    check_sentence(&failure, "Container main of pod train-worker-1 was killed by SIGSEGV (exit code 139)");
    memory.oom_killed = true;
    memory.trouble = "OOMKilled";
    none = failure_of_pod(&memory);
    check_sentence(&none, "Container main of pod train-worker-1 was OOM-killed (exit code 137)");
    evicted.trouble = "Evicted";
    evicted.reason = (char *)(uintptr_t) "Evicted";
    evicted.message = (char *)(uintptr_t) "The node was low on resource: memory.";
    none = failure_of_pod(&evicted);
    check_sentence(&none, "Pod train-worker-1 failed: Evicted: The node was low on resource: memory.");
    check_sentence(&taken, "Pod train-worker-1 was deleted: its node is unreachable, gone or tainted");
    taken.reason = "Preempted";
    check_sentence(&taken, "Pod train-worker-1 was preempted by a pod with higher priority");
    taken.reason = "Evicted";
    check_sentence(&taken, "Pod train-worker-1 was evicted from its node");
}

TEST(a_signal_to_a_container_with_a_probe_may_be_its_kubelets)
{
    static const struct {
        int code;
        bool liveness, startup, hook;
        const char *sentence;
    } rows[] = {
        {143, true, false, false, "was killed by SIGTERM (exit code 143), as when its liveness probe fails"},
        {137, true, true, true,
         "was killed by SIGKILL (exit code 137), as when its liveness probe or startup probe or postStart "
         "hook "
         "fails"},
        {143, false, false, false, "was killed by SIGTERM (exit code 143)"},
        {139, true, false, false, "was killed by SIGSEGV (exit code 139)"},
        {1, true, false, false, "exited with code 1"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *sentence = mem_printf("Container main of pod train-worker-1 %s", row->sentence);
        struct pod pod = broken_pod(row->code);
        struct failure failure = failure_of_pod(&pod);

        pod.has_liveness_probe = row->liveness;
        pod.has_startup_probe = row->startup;
        pod.has_start_hook = row->hook;
        check_sentence(&failure, sentence);
    }
}

/* mpirun's exit status is that of the rank, which may have run elsewhere. */
TEST(a_sentence_names_the_rank_that_mpirun_blames)
{
    static const struct {
        const char *report, *sentence;
        int code;
    } rows[] = {
        {"mpirun noticed that process rank 3 with PID 36 on node train-worker-1 exited on signal 11 (Segm)",
         "Rank 3 on train-worker-1 was killed by SIGSEGV; container main of pod train-launcher exited with "
         "code 139",
         139},
        {"The first process to do so was:\n\n  Process name: [[25280,1],2]\n  Exit code:    7\n",
         "Rank 2 exited with code 7; container main of pod train-launcher exited with code 7", 7},
        {"MPI_ABORT was invoked on rank 5 in communicator MPI_COMM_WORLD\nwith errorcode 3.\n",
         "Rank 5 called MPI_Abort; container main of pod train-launcher exited with code 3", 3},
    };

    CHECK_ROWS (row, rows) {
        struct pod pod = broken_pod(row->code);
        struct failure failure;
        struct slice last;

        pod.name = (char *)(uintptr_t) "train-launcher";
        AUTO(mem)
        char *message = mem_printf("[1,5]<stderr>:5\n[1,3]<stderr>:3\n[1,2]<stderr>:2\n%s", row->report);
        pod.message = message;
        failure = failure_of_pod(&pod);
        check_sentence(&failure, row->sentence);
        last = failure_last_line(&failure);
        CHECK_INT_EQ(last.len, 1);
        CHECK_INT_EQ(last.ptr[0], row->sentence[strlen("Rank ")]);
    }
}

/* As mpirun 4.1.4 prints it for a program that is misspelled. Its exit code is no signal's. */
static const char missing_program[] =
    "--------------------------------------------------------------------------\n"
    "mpirun was unable to launch the specified application as it could not access\n"
    "or execute an executable:\n\nExecutable: /examples/rnig\nNode: train-worker-1\n\n"
    "while attempting to start process rank 1.\n"
    "--------------------------------------------------------------------------\n"
    "2 total processes failed to start\n";

TEST(a_program_that_mpirun_could_not_start_is_named)
{
    static const char sentence[] =
        "mpirun cannot find or execute /examples/rnig on train-worker-1; container "
        "main of pod train-launcher exited with code 132";
    struct pod pod = broken_pod(132);
    struct failure failure;

    pod.name = (char *)(uintptr_t) "train-launcher";
    pod.message = (char *)(uintptr_t)missing_program;
    failure = failure_of_pod(&pod);
    check_sentence(&failure, sentence);
    CHECK_INT_EQ(failure_last_line(&failure).len, 0);
    AUTO(json) cJSON *list = merge(NULL, &failure, 0);
    AUTO(mem) char *of_entry = failure_entry_sentence(list->child);
    CHECK_STR_EQ(of_entry, sentence);
}

/* ---- in status ---- */

TEST(a_sentence_of_an_entry_takes_no_exit_code_of_mpirun_for_a_signal)
{
    static const struct {
        const char *message, *sentence;
        int code;
    } rows[] = {
        {"--------------------------------------------------------------------------\n"
         "mpirun has failed\n"
         "--------------------------------------------------------------------------\n",
         "Container main of pod train-worker-1 exited with code 134: mpirun has failed", 134},
        {"no", "Container main of pod train-worker-1 was killed by SIGABRT: no", 134},
        {"no", "Container main of pod train-worker-1 exited with code 1: no", 1},
    };

    CHECK_ROWS (row, rows) {
        struct pod pod = broken_pod(row->code);
        struct failure failure;

        pod.message = (char *)(uintptr_t)row->message;
        failure = failure_of_pod(&pod);
        AUTO(json) cJSON *list = merge(NULL, &failure, 0);
        AUTO(mem) char *sentence = failure_entry_sentence(list->child);
        CHECK_STR_EQ(sentence, row->sentence);
    }
}

TEST(an_entry_says_all_that_is_known)
{
    struct pod pod = broken_pod(139);
    struct failure failure = failure_of_pod(&pod);
    AUTO(json) cJSON *list = merge(NULL, &failure, 0);
    const cJSON *item = list->child;

    CHECK_STR_EQ(json_str(item, "pod", ""), "train-worker-1");
    CHECK_STR_EQ(json_str(item, "node", ""), "n1");
    CHECK_STR_EQ(json_str(item, "container", ""), "main");
    CHECK_INT_EQ(json_i64(item, "exitCode", -1), 139);
    CHECK_INT_EQ(json_i64(item, "signal", -1), 11);
    CHECK_STR_EQ(json_str(item, "reason", ""), "ContainerFailed");
    CHECK_STR_EQ(json_str(item, "message", ""), "last words");
    CHECK_STR_EQ(json_str(item, "time", ""), "2026-09-21T14:13:20Z");
    CHECK(!json_at(item, "outOfMemory"));
}

TEST(only_what_can_be_a_signal_is_called_one)
{
    static const struct {
        int code, reported, signal;
    } rows[] = {{137, 0, 9},  {192, 0, 64}, {193, 0, -1}, {255, 0, -1},
                {128, 0, -1}, {1, 0, -1},   {255, 15, 15}};

    CHECK_ROWS (row, rows) {
        struct pod pod = broken_pod(row->code);
        struct failure failure = failure_of_pod(&pod);

        pod.exit_signal = row->reported;
        AUTO(json) cJSON *list = merge(NULL, &failure, 0);

        CHECK_INT_EQ(json_i64(list->child, "signal", -1), row->signal);
    }
}

/* How its containers took the deletion says nothing about why. */
TEST(an_entry_of_a_pod_that_was_taken_away_has_no_exit_code)
{
    struct pod pod = broken_pod(143);
    struct failure failure;

    pod.disruption = "Preempted";
    pod.disrupted_s = NOW_S;
    failure = failure_of_disruption(&pod);
    AUTO(json) cJSON *list = merge(NULL, &failure, 0);
    CHECK_STR_EQ(json_str(list->child, "reason", ""), "Preempted");
    CHECK_STR_EQ(json_str(list->child, "node", ""), "n1");
    CHECK(!json_at(list->child, "exitCode") && !json_at(list->child, "container"));
}

TEST(the_last_three_attempts_are_kept_the_newest_first)
{
    struct pod pod = broken_pod(1);
    cJSON *list = NULL;

    for (uint32_t attempt = 0; attempt < 5; attempt++) {
        struct failure failure;
        cJSON *next;

        pod.failed_s = NOW_S + attempt;
        failure = failure_of_pod(&pod);
        failure.attempt = attempt;
        next = merge(list, &failure, 0);
        cJSON_Delete(list);
        list = merge(next, &failure, 0); /* told again, it changes nothing */
        CHECK(json_equal(list, next));
        cJSON_Delete(next);
    }
    CHECK_INT_EQ(cJSON_GetArraySize(list), STATUS_FAILURES_MAX);
    CHECK_INT_EQ(json_i64(list->child, "attempt", -1), 4);
    CHECK_INT_EQ(json_i64(list->child->next->next, "attempt", -1), 2);
    cJSON_Delete(list);
}

/* Bounded, and only for the last attempt: those that failed themselves come first. */
TEST(the_other_pods_of_the_last_attempt_are_kept)
{
    struct pod pods[STATUS_OTHER_PODS_MAX + 3];
    struct worker_view workers[COUNT_OF(pods)];
    char names[COUNT_OF(pods)][16], log[2 * STATUS_OTHER_LINES_MAX + 1];
    struct failure failure;

    memset(log, '.', sizeof(log) - 1);
    log[sizeof(log) - 1] = '\0';
    memcpy(log + sizeof(log) - 12, "\nlast line\n", 11);
    for (uint32_t i = 0; i < COUNT_OF(pods); i++) {
        (void)snprintf(names[i], sizeof(names[i]), "train-worker-%u", i);
        pods[i] = broken_pod(143);
        pods[i].name = names[i];
        pods[i].stopped_while_running = i != 1 && i != 5;
        workers[i] = (struct worker_view){.state = WORKER_PRESENT, .pod = &pods[i]};
    }
    pods[0].message = NULL; /* it printed nothing */
    pods[5].message = log;
    failure = failure_of_pod(&pods[1]);
    AUTO(json) cJSON *first = merge(NULL, &failure, 0);
    failure.pods = workers;
    failure.pod_count = COUNT_OF(workers);
    AUTO(json) cJSON *ended = merge(first, &failure, 0);
    AUTO(json) cJSON *again = merge(ended, &failure, 0);
    const cJSON *others = json_at(ended->child, "otherPods");

    CHECK(!json_at(first->child, "otherPods"));
    CHECK(json_equal(ended, again));
    CHECK_INT_EQ(cJSON_GetArraySize(others), STATUS_OTHER_PODS_MAX);
    CHECK_STR_EQ(json_str(others->child, "pod", ""), "train-worker-5");
    CHECK_STR_EQ(json_str(others->child, "message", ""), "last line\n");
    CHECK_INT_EQ(json_i64(others->child, "exitCode", 0), 143);
    CHECK_STR_EQ(json_str(others->child->next, "pod", ""), "train-worker-2");
    CHECK_STR_EQ(json_str(others->child->next, "message", ""), "last words");

    failure.attempt++;
    pods[1].failed_s++;
    failure.at_s++;
    failure.pods = NULL;
    AUTO(json) cJSON *next = merge(ended, &failure, 0);
    CHECK_INT_EQ(cJSON_GetArraySize(next), 2);
    CHECK(!json_at(next->child->next, "otherPods"));
}

/* Its kubelet was late: the worker that was named first was its victim. */
TEST(an_earlier_failure_that_is_heard_of_later_takes_the_place)
{
    struct pod victim = broken_pod(1), cause = broken_pod(9);
    struct failure later = failure_of_pod(&victim), earlier;

    cause.failed_s = NOW_S - 5;
    cause.name = (char *)(uintptr_t) "train-worker-0";
    earlier = failure_of_pod(&cause);
    AUTO(json) cJSON *first = merge(NULL, &later, NOW_S - 100);
    AUTO(json) cJSON *second = merge(first, &earlier, NOW_S - 100);
    AUTO(json) cJSON *third = merge(second, &later, NOW_S - 100);

    CHECK_INT_EQ(cJSON_GetArraySize(second), 1);
    CHECK_STR_EQ(json_str(second->child, "pod", ""), "train-worker-0");
    CHECK(json_equal(second, third));
}

/* Suspended and resumed, a job counts its attempts anew. */
TEST(a_failure_of_an_earlier_life_is_not_taken_for_this_one)
{
    struct pod pod = broken_pod(1);
    struct failure old = failure_of_pod(&pod), new;

    AUTO(json) cJSON *before = merge(NULL, &old, 0);
    pod.failed_s = NOW_S + 100;
    new = failure_of_pod(&pod);
    AUTO(json) cJSON *after = merge(before, &new, NOW_S + 50);
    CHECK_INT_EQ(cJSON_GetArraySize(after), 2);
    CHECK_STR_EQ(json_str(after->child->next, "time", ""), json_str(before->child, "time", ""));
}

TEST(a_node_whose_clock_is_behind_is_reported_once)
{
    struct pod pod = broken_pod(1);
    struct failure failure = failure_of_pod(&pod);
    AUTO(json) cJSON *first = merge(NULL, &failure, NOW_S + 600);
    AUTO(json) cJSON *second = merge(first, &failure, NOW_S + 600);

    CHECK(json_equal(first, second));
    CHECK(failures_include(first, &failure, NOW_S + 600));
}

TEST(many_instances_that_fail_at_once_settle)
{
    struct pod pods[8];
    struct failure failures[8];

    for (size_t i = 0; i < COUNT_OF(pods); i++) {
        pods[i] = broken_pod(1);
        pods[i].failed_s = NOW_S + (int64_t)(i % 3);
        failures[i] = failure_of_pod(&pods[i]);
        failures[i].instance = (uint32_t)i;
    }
    AUTO(json) cJSON *first = failures_merge(NULL, failures, COUNT_OF(failures), 0);
    AUTO(json) cJSON *second = failures_merge(first, failures, COUNT_OF(failures), 0);

    CHECK_INT_EQ(cJSON_GetArraySize(first), STATUS_FAILURES_MAX);
    CHECK_INT_EQ(json_i64(first->child, "instance", -1), 2);
    CHECK_INT_EQ(json_i64(first->child->next, "instance", -1), 5);
    CHECK_INT_EQ(json_i64(first->child->next->next, "instance", -1), 1);
    CHECK(json_equal(first, second));
}
