#include "operator/api/observed/pod.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

#define METADATA                                                                                             \
    "\"metadata\":{\"name\":\"train-worker-1\",\"namespace\":\"team\",\"uid\":\"u1\",\"resourceVersion\":"   \
    "\"9\","                                                                                                 \
    "\"labels\":{\"graphcore.ai/instance\":\"0\",\"graphcore.ai/worker\":\"1\"},"                            \
    "\"annotations\":{\"graphcore.ai/partition\":\"p-train-team-0\",\"graphcore.ai/run\":\"2\"},"            \
    "\"ownerReferences\":[{\"apiVersion\":\"graphcore.ai/v1alpha1\",\"kind\":\"IPUJob\",\"name\":\"train\"," \
    "\"uid\":\"j1\",\"controller\":true}]"
#define ON_NODE "\"spec\":{\"nodeName\":\"n1\"}"
#define LAUNCHER_DONE                                                                                        \
    "\"initContainerStatuses\":[{\"name\":\"ipu-launcher\",\"state\":{\"terminated\":{\"exitCode\":0,"       \
    "\"finishedAt\":\"2026-01-01T10:00:00Z\"}}}]"
#define STATE(name, state) "{\"name\":\"" name "\",\"state\":{" state "}}"
#define RUNNING "\"running\":{\"startedAt\":\"2026-01-01T10:00:01Z\"}"
#define ENDED(code, at)                                                                                      \
    "\"terminated\":{\"exitCode\":" code ",\"reason\":\"Error\",\"finishedAt\":\"2026-01-01T10:" at "Z\","   \
    "\"message\":\"last words\"}"
#define WAITING(reason, message) "\"waiting\":{\"reason\":\"" reason "\",\"message\":\"" message "\"}"
#define TEN_O_CLOCK 1767261600 /* 2026-01-01T10:00:00Z */

static struct pod *parse(const char *text)
{
    struct err err = {0};
    AUTO(json) cJSON *object = json_parse(slice_of(text), &err);

    CHECK_OK(object, err);
    return pod_parse(object);
}

TEST(a_running_pod_is_known_by_its_labels_annotations_and_owner)
{
    AUTO(pod)
    struct pod *pod = parse("{" METADATA "}," ON_NODE ",\"status\":{\"phase\":\"Running\"," LAUNCHER_DONE
                            ",\"containerStatuses\":[" STATE(
                                "main", RUNNING) "],"
                                                 "\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"
                                                 "\"True\"},{\"type\":\"Ready\",\"status\":\"True\"}]}}");

    CHECK_STR_EQ(pod->ns, "team");
    CHECK_STR_EQ(pod->name, "train-worker-1");
    CHECK_STR_EQ(pod->uid, "u1");
    CHECK_STR_EQ(pod->resource_version, "9");
    CHECK_STR_EQ(pod->job_uid, "j1");
    CHECK_STR_EQ(pod->job_name, "train");
    CHECK_STR_EQ(pod->job_key, "team/train");
    CHECK_STR_EQ(pod->partition, "p-train-team-0");
    CHECK_STR_EQ(pod->node, "n1");
    CHECK_INT_EQ(pod->run, 2);
    CHECK_INT_EQ(pod->instance, 0);
    CHECK_INT_EQ(pod->worker, 1);
    CHECK_INT_EQ(pod->phase, POD_RUNNING);
    CHECK(pod->ready && pod->has_started);
    CHECK(!pod->deleting && !pod->stopped_while_running && !pod->main_done && !pod->started_all_terminated);
    CHECK(!pod->failed_container && !pod->reason && !pod->message && !pod->trouble && !pod->disruption);
}

TEST(a_container_that_outlives_the_first_is_named)
{
    static const struct {
        const char *statuses, *sidecar_still_running;
    } rows[] = {
        {STATE("main", RUNNING) "," STATE("board", RUNNING), NULL},
        {STATE("board", RUNNING) "," STATE("main", ENDED("0", "01:00")), "board"},
        {STATE("board", RUNNING) "," STATE("main", ENDED("3", "01:00")), "board"},
        {STATE("board", ENDED("0", "01:00")) "," STATE("main", RUNNING), NULL},
        {STATE("board", ENDED("0", "01:00")) "," STATE("main", ENDED("0", "01:00")), NULL},
        {STATE("board", WAITING("CrashLoopBackOff", "x")) "," STATE("main", ENDED("0", "01:00")), NULL},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem)
        char *text = mem_printf("{" METADATA "},\"spec\":{\"containers\":[{\"name\":\"main\"},"
                                "{\"name\":\"board\"}]},\"status\":{\"phase\":\"Running\","
                                "\"containerStatuses\":[%s]}}",
                                row->statuses);
        AUTO(pod) struct pod *pod = parse(text);

        CHECK_STR_EQ(pod->sidecar_still_running, row->sidecar_still_running);
    }
}

TEST(a_node_reports_that_it_has_not_prepared_a_pod)
{
    static const struct {
        const char *type, *status;
        bool told;
    } rows[] = {
        {"PodReadyToStartContainers", "False", true},
        {"PodReadyToStartContainers", "True", false},
        {"Ready", "False", false},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem)
        char *text =
            mem_printf("{" METADATA "}," ON_NODE ",\"status\":{\"phase\":\"Pending\",\"conditions\":[{"
                       "\"type\":\"%s\",\"status\":\"%s\"}]}}",
                       row->type, row->status);
        AUTO(pod) struct pod *pod = parse(text);

        CHECK_INT_EQ(pod->sandbox_not_ready, row->told);
    }
}

TEST(a_pod_that_runs_and_is_not_ready_says_why)
{
    static const char probe[] = "container main runs, but does not pass its readiness or startup probe",
                      node[] = "node n1 has not been ready since 2026-11-27T01:39:47Z",
                      unknown[] = "node n1 is not ready";
    static const struct {
        const char *ready, *containers, *main, *helper, *unready, *since;
    } rows[] = {
        {"True", "True", "{\"running\":{}},\"ready\":true", "{\"running\":{}},\"ready\":true", NULL, NULL},
        {"False", "False", "{\"running\":{}},\"ready\":false", "{\"running\":{}},\"ready\":true", probe,
         NULL},
        {"False", "True", "{\"running\":{}},\"ready\":true", "{\"running\":{}},\"ready\":true", node,
         "2026-11-27T01:39:47Z"},
        {"False", "True", "{\"running\":{}},\"ready\":true", "{\"running\":{}},\"ready\":true", unknown,
         NULL},
        /* a helper that has ended is no failed probe, and neither are those that outlive the program */
        {"False", "False", "{\"running\":{}},\"ready\":true",
         "{\"terminated\":{\"exitCode\":0}},\"ready\":false", NULL, NULL},
        {"False", "False", "{\"terminated\":{\"exitCode\":0}},\"ready\":false",
         "{\"running\":{}},\"ready\":false", NULL, NULL},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem)
        char *text = mem_printf(
            "{" METADATA "},\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"main\"},{\"name\":"
            "\"helper\"}]},\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":"
            "\"%s\",\"lastTransitionTime\":\"%s\"},{\"type\":\"ContainersReady\",\"status\":\"%s\"}],"
            "\"containerStatuses\":[{\"name\":"
            "\"helper\",\"state\":%s},{\"name\":\"main\",\"state\":%s}]}}",
            row->ready, row->since ? row->since : "", row->containers, row->helper, row->main);
        AUTO(pod) struct pod *pod = parse(text);
        AUTO(mem) char *unready = pod_describe_unready(pod);

        CHECK_STR_EQ(unready, row->unready);
    }
}

TEST(of_a_failed_container_the_probes_and_the_hook_are_known_that_may_have_ended_it)
{
    static const struct {
        const char *fields;
        bool liveness, startup, hook;
    } rows[] = {
        {"\"livenessProbe\":{}", true, false, false},
        {"\"startupProbe\":{},\"lifecycle\":{\"postStart\":{}}", false, true, true},
        {"\"readinessProbe\":{},\"lifecycle\":{\"preStop\":{}}", false, false, false},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem)
        char *text = mem_printf("{" METADATA "},\"spec\":{\"containers\":[{\"name\":\"main\",%s}]},"
                                "\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[%s]}}",
                                row->fields, STATE("main", ENDED("143", "00:02")));
        AUTO(pod) struct pod *pod = parse(text);

        CHECK_INT_EQ(pod->has_liveness_probe, row->liveness);
        CHECK_INT_EQ(pod->has_startup_probe, row->startup);
        CHECK_INT_EQ(pod->has_start_hook, row->hook);
    }
}

TEST(a_pod_reports_when_each_step_was_done)
{
    AUTO(pod)
    struct pod *pod =
        parse("{" METADATA ",\"creationTimestamp\":\"2026-01-01T10:00:00Z\"}," ON_NODE
              ",\"status\":{\"phase\":\"Running\",\"startTime\":\"2026-01-01T10:00:02Z\"," LAUNCHER_DONE
              ",\"containerStatuses\":[{\"name\":\"side\",\"state\":{\"terminated\":{\"exitCode\":0,"
              "\"startedAt\":\"2026-01-01T10:00:09Z\"}}}," STATE(
                  "main",
                  RUNNING) "],\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":"
                           "\"2026-01-01T10:00:11Z\"},{\"type\":\"PodScheduled\",\"status\":\"True\","
                           "\"lastTransitionTime\":\"2026-01-01T10:00:01Z\"}]}}");

    CHECK_INT_EQ(pod->created_s, TEN_O_CLOCK);
    CHECK_INT_EQ(pod->scheduled_s, TEN_O_CLOCK + 1);
    CHECK_INT_EQ(pod->started_s, TEN_O_CLOCK + 2);
    CHECK_INT_EQ(pod->begun_s, TEN_O_CLOCK + 1);
    CHECK_INT_EQ(pod->ready_s, TEN_O_CLOCK + 11);
}

TEST(a_pod_that_succeeded_has_no_failure)
{
    AUTO(pod)
    struct pod *pod = parse("{" METADATA "}," ON_NODE ",\"status\":{\"phase\":\"Succeeded\"," LAUNCHER_DONE
                            ",\"containerStatuses\":[" STATE("main", ENDED("0", "05:00")) "]}}");

    CHECK_INT_EQ(pod->phase, POD_SUCCEEDED);
    CHECK(pod->main_done && pod->started_all_terminated);
    CHECK_INT_EQ(pod->finished_s, TEN_O_CLOCK + 300);
    CHECK_INT_EQ(pod->failed_s, 0);
    CHECK_INT_EQ(pod->exit_code, 0);
    CHECK(!pod->failed_container);
}

TEST(a_failure_is_named_with_code_and_last_words)
{
    AUTO(pod)
    struct pod *pod = parse("{" METADATA "}," ON_NODE ",\"status\":{\"phase\":\"Failed\"," LAUNCHER_DONE
                            ",\"containerStatuses\":[" STATE("main", ENDED("3", "05:00")) "]}}");

    CHECK_INT_EQ(pod->phase, POD_FAILED);
    CHECK_STR_EQ(pod->failed_container, "main");
    CHECK_INT_EQ(pod->exit_code, 3);
    CHECK_INT_EQ(pod->failed_s, TEN_O_CLOCK + 300);
    CHECK_STR_EQ(pod->message, "last words");
    CHECK(!pod->reason && !pod->oom_killed);
}

/* Statuses are sorted by name; the cause is who failed first. */
TEST(the_first_to_fail_is_the_cause)
{
    AUTO(pod)
    struct pod *pod =
        parse("{" METADATA "}," ON_NODE ",\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[" STATE(
            "aux",
            ENDED("137", "06:00")) "," STATE("main",
                                             ENDED("2", "05:00")) "," STATE("zero",
                                                                            ENDED("0", "04:00")) "]}}");

    CHECK_STR_EQ(pod->failed_container, "main");
    CHECK_INT_EQ(pod->exit_code, 2);
    CHECK_INT_EQ(pod->finished_s, TEN_O_CLOCK + 360);
    CHECK_INT_EQ(pod->failed_s, TEN_O_CLOCK + 300);
}

/* The kubelet ends sidecars by force when the others have ended. */
TEST(a_native_sidecar_is_never_the_cause)
{
    AUTO(pod)
    struct pod *pod = parse(
        "{" METADATA "},\"spec\":{\"nodeName\":\"n1\",\"initContainers\":[{\"name\":\"setup\"},"
        "{\"name\":\"proxy\",\"restartPolicy\":\"Always\"}]},"
        "\"status\":{\"phase\":\"Failed\",\"initContainerStatuses\":[" STATE(
            "setup", ENDED("0", "00:01")) "," STATE("proxy",
                                                    ENDED("137", "02:00")) "],"
                                                                           "\"containerStatuses\":[" STATE(
                                                                               "main",
                                                                               ENDED("1", "05:00")) "]}}");

    CHECK_STR_EQ(pod->failed_container, "main");
    CHECK_INT_EQ(pod->exit_code, 1);
    CHECK(pod->started_all_terminated);
}

TEST(a_running_sidecar_keeps_a_pod_from_being_quiet)
{
    AUTO(pod)
    struct pod *pod = parse(
        "{" METADATA "},\"spec\":{\"nodeName\":\"n1\",\"initContainers\":[{\"name\":\"proxy\","
        "\"restartPolicy\":\"Always\"}]},\"status\":{\"phase\":\"Succeeded\",\"initContainerStatuses\":"
        "[" STATE("proxy", RUNNING) "],\"containerStatuses\":[" STATE("main", ENDED("0", "05:00")) "]}}");

    CHECK(pod->main_done);
    CHECK(!pod_has_stopped(pod, false, false));
}

TEST(an_init_container_that_runs_is_named)
{
    static const struct {
        const char *statuses, *name;
    } rows[] = {
        {STATE("wait", RUNNING), "wait"},
        {STATE("wait", ENDED("0", "00:01")), NULL},
        {STATE("proxy", RUNNING), NULL},
        {STATE("ipu-launcher", RUNNING), NULL},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem)
        char *text = mem_printf("{" METADATA "},\"spec\":{\"nodeName\":\"n1\",\"initContainers\":[{\"name\":"
                                "\"proxy\",\"restartPolicy\":\"Always\"}]},\"status\":{\"phase\":\"Pending\","
                                "\"initContainerStatuses\":[%s]}}",
                                row->statuses);
        AUTO(pod) struct pod *pod = parse(text);

        CHECK_STR_EQ(pod->running_init, row->name);
    }
}

TEST(an_init_container_can_be_the_cause)
{
    AUTO(pod)
    struct pod *pod = parse(
        "{" METADATA "},\"spec\":{\"nodeName\":\"n1\",\"initContainers\":[{\"name\":\"setup\"}]},"
        "\"status\":{\"phase\":\"Failed\",\"initContainerStatuses\":[" STATE(
            "setup", ENDED("9", "00:05")) "],\"containerStatuses\":[" STATE("main", WAITING("PodInitializing",
                                                                                            "")) "]}}");

    CHECK_STR_EQ(pod->failed_container, "setup");
    CHECK_INT_EQ(pod->exit_code, 9);
    CHECK(!pod->main_done);
    CHECK_STR_EQ(pod->trouble, "ContainerFailed");
    CHECK(pod_has_stopped(pod, false, false)); /* what has started has ended */
}

TEST(running_out_of_memory_has_a_reason)
{
    AUTO(pod)
    struct pod *pod =
        parse("{" METADATA "}," ON_NODE ",\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[" STATE(
            "main", "\"terminated\":{\"exitCode\":137,\"signal\":9,\"reason\":\"OOMKilled\","
                    "\"finishedAt\":\"2026-01-01T10:05:00Z\"}") "]}}");

    CHECK(pod->oom_killed);
    CHECK_STR_EQ(pod->reason, "OOMKilled");
    CHECK_INT_EQ(pod->exit_signal, 9);
    CHECK_STR_EQ(pod->message, "");
}

/* The program survived its child, and ended because of that. */
TEST(memory_that_ran_out_is_known_from_the_log_where_the_runtime_missed_it)
{
    AUTO(pod)
    struct pod *pod =
        parse("{" METADATA "}," ON_NODE ",\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[" STATE(
            "main", "\"terminated\":{\"exitCode\":1,\"reason\":\"Error\",\"message\":\"epoch 1\\n"
                    "ipu-launch: this container ran out of memory: the kernel killed 1 process\\n\","
                    "\"finishedAt\":\"2026-01-01T10:05:00Z\"}") "]}}");

    CHECK(pod->oom_killed);
    CHECK_STR_EQ(pod->trouble, "OOMKilled");
    CHECK_INT_EQ(pod->exit_code, 1);
}

/* Its log begins with those of the attempt before it. */
TEST(the_lines_of_a_restarted_pod_are_its_own)
{
    AUTO(pod)
    struct pod *pod =
        parse("{" METADATA "}," ON_NODE ",\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[" STATE(
            "main", "\"terminated\":{\"exitCode\":1,\"reason\":\"Error\",\"message\":\""
                    "ipu-launch: ipu-launch: this container ran out of memory: the kernel killed 1 process\\n"
                    "ipu-launch: The output of this attempt follows.\\nno data\\n\","
                    "\"finishedAt\":\"2026-01-01T10:05:00Z\"}") "]}}");

    CHECK(!pod->oom_killed);
    CHECK_STR_EQ(pod->message, "no data\n");
}

TEST(an_evicted_pod_explains_itself)
{
    AUTO(pod)
    struct pod *pod =
        parse("{" METADATA "}," ON_NODE ",\"status\":{\"phase\":\"Failed\",\"reason\":\"Evicted\","
              "\"message\":\"The node was low on resource: memory.\",\"containerStatuses\":[" STATE(
                  "main", ENDED("137", "05:00")) "]}}");

    CHECK_STR_EQ(pod->reason, "Evicted");
    CHECK_STR_EQ(pod->message, "The node was low on resource: memory.");
    CHECK_INT_EQ(pod->exit_code, 137);
    CHECK(pod_has_stopped(pod, false, false));
}

/* Sets Failed without looking at the node: the phase proves nothing. */
TEST(the_garbage_collector_is_not_believed)
{
    static const char *const states[] = {
        "",
        ",\"containerStatuses\":[" STATE("main", RUNNING) "]",
        ",\"containerStatuses\":[" STATE("main", WAITING("ContainerCreating", "")) "]",
        "," LAUNCHER_DONE ",\"containerStatuses\":[" STATE("main", WAITING("PodInitializing", "")) "]",
    };

    CHECK_ROWS (state, states) {
        AUTO(mem)
        char *text = mem_printf("{" METADATA "}," ON_NODE ",\"status\":{\"phase\":\"Failed\",\"conditions\":["
                                "{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":"
                                "\"DeletionByPodGC\"}]%s}}",
                                *state);
        AUTO(pod) struct pod *pod = parse(text);

        CHECK_INT_EQ(pod->phase, POD_UNKNOWN);
        CHECK(!pod_is_terminal(pod));
        CHECK(!pod_has_stopped(pod, false, false));
        CHECK(!pod_has_stopped(pod, true, false));
        CHECK(pod_has_stopped(pod, true, true));
    }
}

TEST(a_failed_pod_has_stopped_once_its_containers_ended)
{
    AUTO(pod)
    struct pod *pod =
        parse("{" METADATA "}," ON_NODE ",\"status\":{\"phase\":\"Failed\",\"conditions\":["
              "{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":\"DeletionByPodGC\"}],"
              "\"containerStatuses\":[" STATE("main", ENDED("1", "05:00")) "]}}");

    CHECK_INT_EQ(pod->phase, POD_FAILED);
    CHECK(pod_has_stopped(pod, false, false));
}

TEST(other_disruptions_leave_the_kubelets_word)
{
    AUTO(pod)
    struct pod *pod = parse("{" METADATA "}," ON_NODE ",\"status\":{\"phase\":\"Failed\",\"conditions\":["
                            "{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":"
                            "\"TerminationByKubelet\"}],\"reason\":\"Terminated\"}}");

    CHECK_INT_EQ(pod->phase, POD_FAILED);
    CHECK_STR_EQ(pod->reason, "Terminated");
}

TEST(an_image_or_container_that_cannot_start_is_trouble)
{
    static const char *const reasons[] = {"ErrImagePull",         "ImagePullBackOff",
                                          "InvalidImageName",     "ErrImageNeverPull",
                                          "CreateContainerError", "CreateContainerConfigError"};

    CHECK_ROWS (reason, reasons) {
        AUTO(mem)
        char *text =
            mem_printf("{" METADATA "}," ON_NODE ",\"status\":{\"phase\":\"Pending\","
                       "\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"waiting\":{\"reason\":\"%s\","
                       "\"message\":\"no such image\"}}}]}}",
                       *reason);
        AUTO(pod) struct pod *pod = parse(text);

        CHECK_STR_EQ(pod->trouble, strstr(*reason, "Image") ? "ImagePullFailed" : "ContainerCannotStart");
        CHECK_STR_EQ(pod->reason, *reason);
        CHECK_STR_EQ(pod->message, "no such image");
    }
}

TEST(a_container_that_is_being_created_is_no_trouble)
{
    AUTO(pod)
    struct pod *pod =
        parse("{" METADATA "}," ON_NODE ",\"status\":{\"phase\":\"Pending\",\"containerStatuses\":[" STATE(
            "main", WAITING("ContainerCreating", "")) "]}}");

    CHECK(!pod->trouble);
    CHECK(!pod->reason);
    CHECK(!pod->has_started);
}

TEST(a_container_that_waits_behind_another_has_its_volumes)
{
    AUTO(pod)
    struct pod *pod = parse("{" METADATA "}," ON_NODE ",\"status\":{\"phase\":\"Pending\"," LAUNCHER_DONE
                            ",\"containerStatuses\":[" STATE("main", WAITING("PodInitializing", "")) "]}}");

    CHECK(pod->has_started);
}

TEST(an_unschedulable_pod_says_why)
{
    AUTO(pod)
    struct pod *pod =
        parse("{" METADATA "},\"spec\":{},\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":"
              "\"PodScheduled\",\"status\":\"False\",\"reason\":\"Unschedulable\",\"message\":"
              "\"0/3 nodes are available\"}]}}");

    CHECK(!pod->node);
    CHECK_STR_EQ(pod->reason, "Unschedulable");
    CHECK_STR_EQ(pod->message, "0/3 nodes are available");
}

/* ---- deletion ---- */

#define DELETED_AT_TEN_WITH_30S                                                                              \
    ",\"deletionTimestamp\":\"2026-01-01T10:00:30Z\",\"deletionGracePeriodSeconds\":30"

TEST(a_deletion_cuts_short_what_had_not_ended)
{
    static const struct {
        const char *phase, *state;
        bool stopped_while_running;
    } rows[] = {
        {"Pending", "", true},
        {"Running", "\"containerStatuses\":[" STATE("main", RUNNING) "],", true},
        {"Failed", "\"containerStatuses\":[" STATE("main", ENDED("143", "00:02")) "],", true},
        {"Succeeded", "\"containerStatuses\":[" STATE("main", ENDED("0", "00:02")) "],", true},
        {"Failed", "\"containerStatuses\":[" STATE("main", ENDED("1", "00:00")) "],", true},
        {"Failed", "", true},
        {"Succeeded",
         "\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{\"exitCode\":0,\"finishedAt\":"
         "\"2026-01-01T09:59:58Z\"}}}],",
         false},
        {"Failed",
         "\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{\"exitCode\":1,\"finishedAt\":"
         "\"2026-01-01T09:59:58Z\"}}}],",
         false},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem)
        char *text =
            mem_printf("{" METADATA DELETED_AT_TEN_WITH_30S "}," ON_NODE ",\"status\":{%s\"phase\":\"%s\"}}",
                       row->state, row->phase);
        AUTO(pod) struct pod *pod = parse(text);

        CHECK(pod->deleting);
        CHECK_INT_EQ(pod->stopped_while_running, row->stopped_while_running);
    }
}

#define ENDED_AT_FIVE "\"containerStatuses\":[" STATE("main", ENDED("0", "00:05")) "],"
#define TAKEN "\"conditions\":[{\"type\":\"DisruptionTarget\",\"reason\":\"EvictionByEvictionAPI\"}],"

/* As an API server 1.34 has it: two seconds after the end, its kubelet's last deletion. */
static struct pod *let_go_by_its_kubelet(void)
{
    return parse("{" METADATA
                 ",\"deletionTimestamp\":\"2026-01-01T10:00:07Z\",\"deletionGracePeriodSeconds\":0}," ON_NODE
                 ",\"status\":{" ENDED_AT_FIVE TAKEN "\"phase\":\"Succeeded\"}}");
}

TEST(a_pod_that_was_cut_short_stays_so_when_its_kubelet_lets_go)
{
    AUTO(pod)
    struct pod *before = parse("{" METADATA DELETED_AT_TEN_WITH_30S "}," ON_NODE
                               ",\"status\":{" ENDED_AT_FIVE TAKEN "\"phase\":\"Succeeded\"}}");
    AUTO(pod) struct pod *last = let_go_by_its_kubelet();

    CHECK(before->stopped_while_running && !last->stopped_while_running);
    pod_merge_previous(last, before);
    CHECK(last->stopped_while_running);
    CHECK_STR_EQ(last->disruption, "Evicted");
}

TEST(a_pod_that_ended_by_itself_or_another_is_not_cut_short_later)
{
    AUTO(pod)
    struct pod *ended =
        parse("{" METADATA "}," ON_NODE ",\"status\":{" ENDED_AT_FIVE "\"phase\":\"Succeeded\"}}");
    AUTO(pod)
    struct pod *namesake =
        parse("{\"metadata\":{\"name\":\"train-worker-1\",\"uid\":\"u2\"" DELETED_AT_TEN_WITH_30S "}," ON_NODE
              ",\"status\":{\"phase\":\"Running\"}}");
    AUTO(pod) struct pod *last = let_go_by_its_kubelet();

    CHECK(namesake->stopped_while_running);
    pod_merge_previous(last, ended);
    pod_merge_previous(last, namesake);
    CHECK(!last->stopped_while_running && !last->disruption);
}

/* ---- stops ---- */

#define STOPPED_AT_TEN                                                                                       \
    "{\"metadata\":{\"name\":\"train-worker-1\",\"uid\":\"u1\",\"annotations\":{\"graphcore.ai/"             \
    "stopped-at\":\"2026-01-01T10:00:00Z\"}},\"spec\":{\"nodeName\":\"n1\",\"activeDeadlineSeconds\":"
#define PAST_DEADLINE                                                                                        \
    "\"phase\":\"Failed\",\"reason\":\"DeadlineExceeded\",\"message\":\"Pod was active on\","
#define ENDED_BEFORE(code)                                                                                   \
    "\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{\"exitCode\":" code                \
    ",\"finishedAt\":\"2026-01-01T09:59:58Z\",\"message\":\"last words\"}}}]"

/* kubernetes/kubernetes, pkg/kubelet/kubelet_pods.go, generateAPIPodStatus: after its deadline every pod is
 * Failed with DeadlineExceeded, whatever its containers did. */
TEST(a_stopped_pod_is_judged_by_its_containers)
{
    static const struct {
        const char *status;
        enum pod_phase phase;
        bool stopped_while_running;
    } rows[] = {
        {"\"phase\":\"Running\",\"containerStatuses\":[" STATE("main", RUNNING) "]", POD_RUNNING, true},
        {PAST_DEADLINE "\"containerStatuses\":[" STATE("main", ENDED("143", "00:03")) "]", POD_FAILED, true},
        {PAST_DEADLINE "\"containerStatuses\":[" STATE("main", ENDED("0", "00:03")) "]", POD_SUCCEEDED, true},
        {PAST_DEADLINE ENDED_BEFORE("3"), POD_FAILED, false},
        {PAST_DEADLINE ENDED_BEFORE("0"), POD_SUCCEEDED, false},
        {"\"phase\":\"Failed\"," ENDED_BEFORE("3"), POD_FAILED, false},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *text = mem_printf(STOPPED_AT_TEN "1},\"status\":{%s}}", row->status);
        AUTO(pod) struct pod *pod = parse(text);

        CHECK(pod_is_ending(pod) && !pod->deleting && pod->has_log && !pod->reason);
        CHECK_INT_EQ(pod->phase, row->phase);
        CHECK_INT_EQ(pod->stopped_while_running, row->stopped_while_running);
        CHECK_INT_EQ(pod_has_stopped(pod, false, false), row->phase != POD_RUNNING);
        CHECK(!pod->trouble || str_eq(pod->trouble, "ContainerFailed"));
    }
}

/* Somebody wrote the annotation, or the template has a deadline of its own. */
TEST(without_both_marks_a_pod_is_not_stopped_by_the_operator)
{
    AUTO(pod)
    struct pod *annotated = parse(STOPPED_AT_TEN "600},\"status\":{" PAST_DEADLINE ENDED_BEFORE("3") "}}");
    AUTO(pod)
    struct pod *limited = parse("{" METADATA "},\"spec\":{\"nodeName\":\"n1\",\"activeDeadlineSeconds\":1},"
                                "\"status\":{" PAST_DEADLINE ENDED_BEFORE("143") "}}");

    CHECK(!annotated->stopped_s && !limited->stopped_s);
    CHECK(!annotated->stopped_while_running && !limited->stopped_while_running);
    CHECK_STR_EQ(annotated->trouble, "PodDeadlineExceeded");
    CHECK_STR_EQ(limited->trouble, "PodDeadlineExceeded");
}

TEST(what_takes_a_stopped_pod_away_is_no_disruption)
{
    AUTO(pod)
    struct pod *pod =
        parse("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"annotations\":{\"graphcore.ai/stopped-at\":"
              "\"2026-01-01T10:00:00Z\"}" DELETED_AT_TEN_WITH_30S "},\"spec\":{\"nodeName\":\"n1\","
              "\"activeDeadlineSeconds\":1},\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":"
              "\"DisruptionTarget\",\"status\":\"True\",\"reason\":\"DeletionByTaintManager\","
              "\"lastTransitionTime\":\"2026-01-01T10:00:00Z\"}]}}");

    CHECK(pod->stopped_while_running && !pod->disruption);
}

TEST(only_a_container_of_the_template_has_a_log)
{
    AUTO(pod)
    struct pod *none = parse("{" METADATA "}," ON_NODE ",\"status\":{\"phase\":\"Pending\"," LAUNCHER_DONE
                             ",\"containerStatuses\":[" STATE("main", WAITING("ErrImagePull", "x")) "]}}");
    AUTO(pod)
    struct pod *init = parse("{" METADATA "}," ON_NODE ",\"status\":{\"phase\":\"Pending\","
                             "\"initContainerStatuses\":[" STATE("fetch", RUNNING) "]}}");

    CHECK(none->has_started && !none->has_log);
    CHECK(init->has_log);
}

/* ---- quiet ---- */

TEST(quiet_is_what_cannot_be_running)
{
    static const struct {
        const char *node;
        enum pod_phase phase;
        bool all_terminated, gone, fenced, quiet;
    } rows[] = {
        /* never on a node: quiet once it is gone, for until then it may still get one */
        {NULL, POD_PENDING, true, false, false, false},
        {NULL, POD_PENDING, true, true, false, true},
        /* on a node: only the end of all that started counts */
        {"n", POD_PENDING, true, false, false, false},
        {"n", POD_PENDING, true, true, false, false},
        {"n", POD_RUNNING, false, false, false, false},
        {"n", POD_RUNNING, false, true, false, false},
        {"n", POD_RUNNING, true, true, false, false},
        {"n", POD_SUCCEEDED, true, false, false, true},
        {"n", POD_SUCCEEDED, true, true, false, true},
        {"n", POD_SUCCEEDED, false, true, false, false},
        {"n", POD_FAILED, true, false, false, true},
        {"n", POD_FAILED, false, false, false, false},
        {"n", POD_FAILED, false, true, false, false},
        {"n", POD_UNKNOWN, true, true, false, false},
        /* a fenced node runs nothing of before */
        {"n", POD_RUNNING, false, false, true, true},
        {"n", POD_RUNNING, false, true, true, true},
        {"n", POD_UNKNOWN, false, true, true, true},
    };

    CHECK_ROWS (row, rows) {
        struct pod pod = {.node = row->node ? mem_strdup(row->node) : NULL,
                          .phase = row->phase,
                          .started_all_terminated = row->all_terminated};
        bool quiet = pod_has_stopped(&pod, row->gone, row->fenced);

        mem_free(pod.node);
        CHECK_INT_EQ(quiet, row->quiet);
    }
}

/* ---- edges ---- */

TEST(a_message_keeps_its_end_and_whole_characters)
{
    AUTO(str) struct str text = {0};
    AUTO(mem) char *json = NULL;

    for (int i = 0; i < 1500; i++)
        str_adds(&text, "\xC3\xA4"); /* two bytes each */
    json = mem_printf("{" METADATA "},\"status\":{\"reason\":\"Evicted\",\"message\":\"xy%s\"}}",
                      str_text(&text));
    AUTO(pod) struct pod *pod = parse(json);

    CHECK(strlen(pod->message) <= 2048 && strlen(pod->message) > 2040);
    CHECK_INT_EQ((unsigned char)pod->message[0], 0xC3);
    CHECK(str_has_suffix(pod->message, "\xC3\xA4"));
}

TEST(only_a_controlling_ipujob_is_an_owner)
{
    static const char *const owners[] = {
        "{\"apiVersion\":\"graphcore.ai/v1alpha1\",\"kind\":\"IPUJob\",\"name\":\"a\",\"uid\":\"u\"}",
        "{\"apiVersion\":\"graphcore.ai/"
        "v1alpha1\",\"kind\":\"IPUJob\",\"name\":\"a\",\"uid\":\"u\",\"controller\":false}",
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"a\",\"uid\":\"u\",\"controller\":true}",
        "{\"apiVersion\":\"example.org/"
        "v1\",\"kind\":\"IPUJob\",\"name\":\"a\",\"uid\":\"u\",\"controller\":true}",
    };

    CHECK_ROWS (owner, owners) {
        AUTO(mem)
        char *text =
            mem_printf("{\"metadata\":{\"name\":\"a\",\"uid\":\"b\",\"ownerReferences\":[%s]}}", *owner);
        AUTO(pod) struct pod *pod = parse(text);

        CHECK(!pod->job_uid);
        CHECK_STR_EQ(pod->job_key, "");
    }
}

TEST(an_object_without_name_or_uid_is_no_pod)
{
    CHECK(!parse("{}"));
    CHECK(!parse("{\"metadata\":{\"name\":\"a\"}}"));
    CHECK(!parse("{\"metadata\":{\"uid\":\"a\"}}"));
    CHECK(!parse("[1]"));
}

TEST(a_bare_pod_is_pending_and_unscheduled)
{
    AUTO(pod) struct pod *pod = parse("{\"metadata\":{\"name\":\"a\",\"uid\":\"b\"}}");

    CHECK_INT_EQ(pod->phase, POD_PENDING);
    CHECK(!pod->node && !pod->partition && !pod->main_done);
    CHECK_INT_EQ(pod->run, 0);
}

TEST(a_phase_from_the_future_is_unknown)
{
    AUTO(pod)
    struct pod *pod =
        parse("{\"metadata\":{\"name\":\"a\",\"uid\":\"b\"},\"status\":{\"phase\":\"Resting\"}}");

    CHECK_INT_EQ(pod->phase, POD_UNKNOWN);
}
