#include "kubectl/core/answers/why.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "lib/check.h"
#include "unit/kubectl/quoted_json.h"

#define NOW "2026-11-26T12:00:00Z"

static int64_t now_s(void)
{
    int64_t now = 0;

    CHECK(timefmt_parse_rfc3339(NOW, &now));
    return now;
}

#define JOB(metadata, spec, status)                                                                          \
    "{'metadata':{'name':'digits','namespace':'ml','uid':'j','creationTimestamp':'2026-11-26T11:00:"         \
    "00Z'" metadata "},'spec':{" spec "},'status':{'observedGeneration':1," status "}}"
#define STATE(status, reason) "'launcherStatus':'" status "','reason':'" reason "'"
#define POD(name, status) POD_ON("", name, status)
#define POD_ON(node, name, status)                                                                           \
    "{'metadata':{'name':'" name "','namespace':'ml','uid':'u-" name                                         \
    "','labels':{'graphcore.ai/instance':'0',"                                                               \
    "'graphcore.ai/worker':'1','graphcore.ai/"                                                               \
    "role':'worker'},'ownerReferences':[{'kind':'IPUJob','name':'digits',"                                   \
    "'uid':'j','controller':true,'apiVersion':'graphcore.ai/"                                                \
    "v1alpha1'}]},'spec':{" node "'containers':[{'name':'main'}]},"                                          \
    "'status':{" status "}}"
#define PULLING_FAILS                                                                                        \
    POD("digits-worker-1",                                                                                   \
        "'phase':'Pending','containerStatuses':[{'name':'main','state':{'waiting':{'reason':"                \
        "'ImagePullBackOff','message':'Back-off pulling image \\u001b[2J'}}}]")
#define RUNS                                                                                                 \
    POD("digits-worker-0", "'phase':'Running','containerStatuses':[{'name':'main','state':{'running':{}}}]")
#define FAILS_PROBE                                                                                          \
    POD("digits-worker-0",                                                                                   \
        "'phase':'Running','conditions':[{'type':'Ready','status':'False'}],'containerStatuses':[{'name':"   \
        "'main','ready':false,'state':{'running':{}}}]")
#define LOST_NODE                                                                                            \
    POD_ON("'nodeName':'node1',", "digits-worker-0",                                                         \
           "'phase':'Running','conditions':[{'type':'Ready','status':'False'},{'type':'ContainersReady',"    \
           "'status':'True'}],'containerStatuses':[{'name':'main','ready':true,'state':{'running':{}}}]")
#define BEING_PREPARED                                                                                       \
    POD("digits-worker-2",                                                                                   \
        "'phase':'Pending','conditions':[{'type':'PodReadyToStartContainers','status':'False'}]")
#define FAILED_POD                                                                                           \
    POD("digits-worker-1", "'phase':'Failed','containerStatuses':[{'name':'main','state':{'terminated':{"    \
                           "'exitCode':3,'reason':'Error','containerID':'c','finishedAt':'" NOW "'}}}]")

static const struct {
    const char *situation, *job, *pods;
} ROWS[] = {
    {"Deleting", JOB(",'deletionTimestamp':'" NOW "'", "", STATE("Terminating", "Terminating")), "[]"},
    {"Held", JOB(",'deletionTimestamp':'" NOW "'", "", STATE("Terminating", "TerminationUnconfirmed")), "[]"},
    {"Held", JOB("", "", STATE("Restarting", "TerminationUnconfirmed")), "[]"},
    {"Unseen",
     "{'metadata':{'name':'digits','creationTimestamp':'2026-11-26T11:59:00Z'},'spec':{},'status':{"
     "'observedGeneration':-1,'launcherStatus':'Pending'}}",
     "[]"},
    /* A clock that is an hour behind must not hide it. */
    {"Unseen", "{'metadata':{'name':'digits','creationTimestamp':'2026-11-26T13:00:00Z'},'spec':{}}", "[]"},
    {"OtherController", JOB("", "'managedBy':'example.com/queue'", STATE("Pending", "")), "[]"},
    {"Completed", JOB("", "'managedBy':'graphcore.ai/ipu-operator'", STATE("Completed", "Completed")), "[]"},
    {"Failed", JOB("", "", STATE("Failed", "ContainerFailed")), "[]"},
    {"Suspended", JOB("", "", STATE("Suspended", "Suspended")), "[]"},
    {"Suspending", JOB("", "", STATE("Suspended", "Suspended") ",'partitionCounts':{'total':1}"), "[]"},
    {"WaitingForIPUs", JOB("", "", STATE("Pending", "InsufficientIPUs")), "[]"},
    {"WaitingForIPUs", JOB("", "", STATE("Pending", "Queued")), "[]"},
    {"CannotBeServed", JOB("", "", STATE("Pending", "ExceedsCapacity")), "[]"},
    {"CannotBeServed", JOB("", "", STATE("Pending", "ControllerUnavailable")), "[]"},
    {"ScaledToZero", JOB("", "", STATE("Pending", "ScaledToZero")), "[]"},
    {"PodsRejected", JOB("", "", STATE("Pending", "QuotaExceeded")), "[]"},
    {"PartitionTrouble", JOB("", "", STATE("Running", "PartitionError")), "[]"},
    {"PodsStuck", JOB("", "", STATE("Starting", "Unschedulable")), "[]"},
    /* The operator reports a pod's trouble only after some time. */
    {"PodsStuck", JOB("", "", STATE("Starting", "StartingPods")), "[" PULLING_FAILS "]"},
    {"Starting", JOB("", "", STATE("Starting", "StartingPods")), "[" RUNS "]"},
    {"Starting",
     "{'metadata':{'name':'digits','creationTimestamp':'2026-11-26T11:59:55Z'},'spec':{},'status':{"
     "'observedGeneration':-1,'launcherStatus':'Pending'}}",
     "[]"},
    {"Restarting", JOB("", "", STATE("Restarting", "Restarting")), "[]"},
    {"Restarting", JOB("", "", STATE("Running", "IPUsPreempted")), "[]"},
    {"Updating", JOB("", "", STATE("Running", "RollingUpdate")), "[]"},
    {"Finishing", JOB("", "", STATE("Running", "Finishing")), "[]"},
    {"RunningWithTrouble", JOB("", "", STATE("Running", "Running")), "[" RUNS "," FAILED_POD "]"},
    {"RunningWithTrouble", JOB("", "", STATE("Running", "Running")), "[" FAILS_PROBE "]"},
    {"RunningWithTrouble", JOB("", "", STATE("Running", "Running")), "[" LOST_NODE "]"},
    {"RunningWithTrouble", JOB("", "", STATE("Running", "PodsNotReady")), "[]"},
    {"Running", JOB("", "", STATE("Running", "Running")), "[" RUNS "]"},
};

TEST(every_situation_is_recognized)
{
    CHECK_ROWS (row, ROWS) {
        AUTO(json) cJSON *job = parsed(row->job);
        AUTO(json) cJSON *pods = parsed(row->pods);
        const struct situation *found =
            why_situation(&(struct why_input){.job = job, .pods = pods, .now_s = now_s()});

        CHECK_STR_EQ(found->name, row->situation);
    }
}

TEST(every_situation_has_a_row)
{
    for (size_t i = 0; i < situation_count; i++) {
        bool has_row = false;

        for (size_t k = 0; k < COUNT_OF(ROWS); k++)
            has_row |= str_eq(ROWS[k].situation, situations[i].name);
        CHECK_STR_EQ(has_row ? "has a row" : situations[i].name, "has a row");
    }
}

static char *printed(const char *job_text, const char *pods_text, const char *events_text, size_t width,
                     bool wide)
{
    AUTO(json) cJSON *job = parsed(job_text);
    AUTO(json) cJSON *pods = parsed(pods_text);
    AUTO(json) cJSON *events = parsed(events_text);
    AUTO(json) cJSON *report = NULL;
    struct str out = {0};

    json_make_visible(pods, "\n");
    report = why_report(&(struct why_input){.job = job, .pods = pods, .events = events, .now_s = now_s()});
    why_print(report, &(struct look){.width = width}, wide, now_s(), &out);
    return str_take(&out);
}

TEST(a_waiting_job_names_what_it_waits_for)
{
    AUTO(mem)
    char *text = printed(
        JOB("", "",
            STATE("Pending",
                  "InsufficientIPUs") ",'lastMessage':'Waiting for 64 IPUs.','conditions':[{'type':'Ready',"
                                      "'status':'False','lastTransitionTime':'2026-11-26T11:46:00Z'}],'queue'"
                                      ":{'controller':'pod256:8090',"
                                      "'ipus':64,'position':1,'freeIpus':96,'totalIpus':256,'"
                                      "fittingPartitions':0,"
                                      "'blockedBy':['cv/resnet-3','cv/resnet-4']},'forecast':{"
                                      "'earliest':'2026-11-26T12:25:00Z','latest':'2026-11-26T13:50:00Z'}"),
        "[]", "[]", 0, false);

    CHECK_STR_EQ(text, "digits waits for IPUs: InsufficientIPUs, for 14m\n"
                       "  message     Waiting for 64 IPUs.\n"
                       "  needs       64 IPUs for its next instance\n"
                       "  free        96 of 256 IPUs, enough for no partition of this size\n"
                       "  place       1 in the queue of pod256:8090\n"
                       "  blocked by  cv/resnet-3, cv/resnet-4\n"
                       "  starts      in 25m to 110m, if nothing changes\n"
                       "  what to do  Wait, or suspend or delete one of the jobs that the message names.\n");
}

TEST(a_stuck_pod_is_shown_with_its_events)
{
    AUTO(mem)
    char *text = printed(
        JOB("", "", STATE("Starting", "StartingPods")), "[" RUNS "," PULLING_FAILS "]",
        "[{'type':'Warning','reason':'Failed','note':'pull\\nfailed','regarding':{'kind':'Pod','name':"
        "'digits-worker-1'},'eventTime':'2026-11-26T11:59:00.000000Z'},{'type':'Normal','reason':"
        "'Scheduled','regarding':{}}]",
        0, false);

    CHECK_HAS(text, "digits has pods that do not start: StartingPods, for 60m\n");
    CHECK_HAS(text,
              "  pod         digits-worker-1 [0.1]: ImagePullFailed: Back-off pulling image \\x1b[2J\n");
    CHECK_HAS(text, "  event       60s ago: Pod/digits-worker-1: Failed: pull failed\n");
    CHECK(!strstr(text, "worker-0") && !strstr(text, "Scheduled"));
}

TEST(a_pod_that_is_not_ready_says_why)
{
    AUTO(mem)
    char *probe = printed(JOB("", "", STATE("Running", "PodsNotReady")), "[" FAILS_PROBE "]", "[]", 0, false);
    AUTO(mem)
    char *node = printed(JOB("", "", STATE("Running", "NodeNotReady")), "[" LOST_NODE "]", "[]", 0, false);

    CHECK_HAS(probe, "digits runs, but not all of it: PodsNotReady, for 60m\n");
    CHECK_HAS(probe,
              "  pod         digits-worker-0 [0.1]: PodsNotReady: container main runs, but does not pass "
              "its readiness or startup probe\n");
    CHECK_HAS(node, "  pod         digits-worker-0 [0.1] on node1: NodeNotReady: node node1 is not ready\n");
}

TEST(events_are_read_of_pods_in_trouble_and_then_of_those_that_wait_for_their_node)
{
    AUTO(json) cJSON *job = parsed(JOB("", "", STATE("Starting", "StartingPods")));
    AUTO(json) cJSON *pods = parsed("[" BEING_PREPARED "," RUNS "," PULLING_FAILS "]");
    AUTO(strv) struct strv names = {0}, first = {0};

    why_choose_pods(job, pods, 3, &names);
    CHECK_INT_EQ(names.count, 2);
    CHECK_STR_EQ(names.items[0], "digits-worker-1");
    CHECK_STR_EQ(names.items[1], "digits-worker-2");
    why_choose_pods(job, pods, 1, &first);
    CHECK_INT_EQ(first.count, 1);
}

TEST(pods_of_an_earlier_job_of_the_name_do_not_count)
{
    AUTO(mem)
    char *text =
        printed("{'metadata':{'name':'digits','uid':'other'},'status':{'observedGeneration':1," STATE(
                    "Starting", "StartingPods") "}}",
                "[" PULLING_FAILS "]", "[]", 0, true);

    CHECK_STR_EQ(text, "digits is starting: StartingPods\n");
}

TEST(events_of_an_earlier_job_of_the_name_are_not_shown)
{
    AUTO(mem)
    char *text = printed(JOB("", "", STATE("Starting", "StartingPods")), "[" PULLING_FAILS "]",
                         "[{'type':'Warning','note':'of the job','regarding':{'uid':'j'}},"
                         "{'type':'Warning','note':'of its pod','regarding':{'uid':'u-digits-worker-1'}},"
                         "{'type':'Warning','note':'of an earlier job','regarding':{'uid':'i'}}]",
                         0, true);

    CHECK_HAS(text, ": of the job\n");
    CHECK_HAS(text, ": of its pod\n");
    CHECK(!strstr(text, "of an earlier job"));
}

#define FAILED(message)                                                                                      \
    JOB("", "",                                                                                              \
        STATE("Failed", "ContainerFailed") ",'completionTime':'2026-11-26T11:50:00Z','failures':[{"          \
                                           "'instance':0,'attempt':0,'pod':'digits-worker-1','node':'n1',"   \
                                           "'container':'main','exitCode':3,"                                \
                                           "'reason':'ContainerFailed','message':'" message "','time':'"     \
                                           "2026-11-26T11:50:00Z'}]")

TEST(a_failure_has_its_last_lines)
{
    AUTO(mem) char *text = printed(FAILED("one\\ntwo"), "[]", "[]", 0, false);

    CHECK_HAS(text, "digits has failed: ContainerFailed, for 10m\n");
    CHECK_HAS(
        text,
        "  failure     ContainerFailed: pod digits-worker-1, container main, exit code 3, node n1, 10m ago\n"
        "              | one\n"
        "              | two\n");
    CHECK_HAS(text, "  what to do  Read its last lines in status.failures, and its log.\n");
}

#define RULE "------------------------------------------------------------\\n"

/* They push the lines of ranks out of the last ten. */
TEST(reports_of_mpirun_are_left_out_of_the_last_lines)
{
    static const struct {
        const char *job, *lines;
    } rows[] = {
        {FAILED("[1,0]<stdout>:epoch 7\\n" RULE "mpirun noticed that process rank 0\\n" RULE),
         " 10m ago\n              | [1,0]<stdout>:epoch 7\n  what"},
        {FAILED(RULE "mpirun was unable to\\nlaunch\\n" RULE), "              | mpirun was unable to\n"},
        {FAILED(
             RULE
             "There are not enough slots available in the system to satisfy\\nUse --oversubscribe\\n" RULE),
         " 10m ago\n  what"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *text = printed(row->job, "[]", "[]", 0, false);

        CHECK_HAS(text, row->lines);
    }
}

#define ENDED_POD(reason)                                                                                    \
    POD("digits-worker-1",                                                                                   \
        "'phase':'Failed','containerStatuses':[{'name':'main','state':{'terminated':{'exitCode':1,"          \
        "'reason':'" reason "','message':'rank 2 starts\\nTraceback\\nRuntimeError: shape\\n'}}}]")

TEST(a_failed_pod_has_the_line_that_tells_most)
{
    static const struct {
        const char *pods, *want;
    } rows[] = {
        {"[" ENDED_POD("Error") "]",
         "  pod         digits-worker-1 [0.1]: ContainerFailed: RuntimeError: shape\n"},
        {"[" ENDED_POD("OOMKilled") "]", "  pod         digits-worker-1 [0.1]: OOMKilled\n"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem)
        char *text = printed(JOB("", "", STATE("Failed", "ContainerFailed")), row->pods, "[]", 0, false);

        CHECK_HAS(text, row->want);
    }
}

TEST(times_of_a_clock_that_is_ahead_are_left_out)
{
    AUTO(mem)
    char *text =
        printed(JOB("", "",
                    STATE("Running", "Running") ",'conditions':[{'type':'Ready','lastTransitionTime':"
                                                "'2026-11-26T13:00:00Z'}]"),
                "[" RUNS "]", "[]", 0, false);

    CHECK_STR_EQ(text, "digits runs, and nothing is out of the ordinary\n");
}

TEST(a_thousand_pods_are_a_few_lines)
{
    AUTO(str) struct str pods = {0};
    AUTO(mem) char *text = NULL;

    str_adds(&pods, "[");
    for (unsigned i = 0; i < 1000; i++)
        str_addf(&pods, "%s%s", i ? "," : "", PULLING_FAILS);
    str_adds(&pods, "]");
    text = printed(JOB("", "", STATE("Starting", "ImagePullFailed")), str_text(&pods), "[]", 0, false);
    CHECK_HAS(text, "and 995 more; see -o wide\n");
}

TEST(no_line_is_longer_than_a_narrow_terminal)
{
    AUTO(mem)
    char *text = printed(
        JOB("", "", STATE("Pending", "InsufficientIPUs") ",'lastMessage':'Waiting for sixty-four IPUs'"),
        "[" PULLING_FAILS "]", "[]", 20, false);
    AUTO(strv) struct strv lines = {0};

    strv_split(text, '\n', &lines);
    for (size_t i = 1; i < lines.count; i++) /* the headline is the terminal's to break */
        CHECK(strlen(lines.items[i]) <= 20);
    CHECK(lines.count > 5);
}

TEST(the_report_is_a_stable_object)
{
    AUTO(json) cJSON *job = parsed(JOB("", "", STATE("Running", "Running")));
    AUTO(json) cJSON *pods = parsed("[" RUNS "]");
    AUTO(strv) struct strv unread = {0};
    AUTO(json) cJSON *report = NULL;
    AUTO(mem) char *text = NULL;

    strv_push(&unread, "events: forbidden");
    report = why_report(&(struct why_input){.job = job, .pods = pods, .unread = &unread, .now_s = now_s()});
    text = json_print(report);
    CHECK_STR_EQ(
        text,
        "{\"apiVersion\":\"cli.graphcore.ai/"
        "v1alpha1\",\"kind\":\"WhyReport\",\"metadata\":{\"namespace\":\"ml\","
        "\"name\":\"digits\"},\"situation\":\"Running\",\"summary\":\"runs, and nothing is out of the "
        "ordinary\","
        "\"status\":\"Running\",\"reason\":\"Running\",\"since\":\"2026-11-26T11:00:00Z\",\"meaning\":\"All "
        "instances "
        "are "
        "running\",\"outdated\":false,\"heldIpus\":0,\"pods\":[{\"name\":\"digits-worker-0\",\"rank\":\"0."
        "1\","
        "\"phase\":\"Running\",\"conspicuous\":false}],\"events\":[],\"unread\":[\"events: forbidden\"]}");
}
