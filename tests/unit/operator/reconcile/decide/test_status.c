#include "operator/reconcile/decide/status/status.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "base/doc/yaml.h"
#include "lib/check.h"
#include "lib/golden.h"
#include "operator/api/job/job_finished.h"
#include "operator/api/names.h"
#include "operator/reconcile/decide/status/conditions.h"

#define NOW_S 1790000000 /* 2026-09-21T14:13:20Z */
#define NOW "2026-09-21T14:13:20Z"
#define EARLIER "2026-09-21T14:12:50Z" /* 30 s */

struct setting {
    struct job *job;
    struct job_view view;
    cJSON *before;
    struct plan plan;
};

static void setting_init(struct setting *s, const char *before)
{
    struct err err = {0};
    AUTO(json)
    cJSON *object = json_parse(SLICE_LIT("{\"metadata\":{\"name\":\"train\",\"namespace\":\"team\",\"uid\":"
                                         "\"u\",\"generation\":5},\"spec\":{"
                                         "\"jobInstances\":2,\"ipusPerJobInstance\":4,\"workers\":{"
                                         "\"template\":{\"spec\":{\"containers\":[{"
                                         "\"name\":\"a\"}]}}}}}"),
                               &err);

    *s = (struct setting){.job = job_parse(object)};
    s->view = (struct job_view){.job = s->job, .now_ms = 1000, .now_unix_s = NOW_S};
    s->before = json_parse(slice_of(before), &err);
    CHECK_OK(s->before, err);
}

static void setting_auto(struct setting *s)
{
    plan_release(&s->plan);
    cJSON_Delete(s->before);
    job_free(s->job);
}

static void decide(struct setting *s, const struct job_verdict *verdict)
{
    plan_release(&s->plan);
    status_decide(&s->view, s->before, verdict, &s->plan);
    s->view.details_since_ms = plan_details_since(&s->plan, s->view.details_since_ms, s->view.now_ms);
}

static void pass_s(struct setting *s, int64_t seconds)
{
    s->view.now_unix_s += seconds;
    s->view.now_ms += seconds * 1000;
}

static const struct op *find(const struct plan *plan, enum op_kind kind)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->ops[i].kind == kind)
            return &plan->ops[i];
    }
    return NULL;
}

static const cJSON *written(const struct setting *s)
{
    const struct op *op = find(&s->plan, OP_STATUS);

    if (!op)
        CHECK_FAIL("no status is written");
    return op->body;
}

/* As the API server would keep it. */
static void keep(struct setting *s)
{
    cJSON *kept = json_dup(written(s));

    for (cJSON *member = kept->child, *next; member; member = next) {
        next = member->next;
        if (cJSON_IsNull(member))
            json_drop(kept, json_key(member));
    }
    cJSON_Delete(s->before);
    s->before = kept;
}

/* A job whose status says this, and nothing was said before. */
static void setting_told(struct setting *s, const struct job_verdict *v)
{
    setting_init(s, "{}");
    decide(s, v);
    keep(s);
}

static const cJSON *condition(const cJSON *status, const char *type)
{
    JSON_EACH (item, json_at(status, "conditions")) {
        if (str_eq(json_str(item, "type", ""), type))
            return item;
    }
    CHECK_FAIL("no condition %s", type);
}

static void check_condition(const cJSON *status, const char *type, bool holds, const char *reason)
{
    const cJSON *item = condition(status, type);

    CHECK_STR_EQ(json_str(item, "status", ""), holds ? "True" : "False");
    CHECK_STR_EQ(json_str(item, "reason", ""), reason);
    CHECK_INT_EQ(json_i64(item, "observedGeneration", 0), 5);
    CHECK(json_at(item, "message"));
}

static struct job_verdict verdict(enum job_state state, const char *reason, const char *message)
{
    return (struct job_verdict){.state = state, .reason = reason, .message = (char *)(uintptr_t)message};
}

/* ---- states and conditions ---- */

TEST(every_state_has_its_conditions)
{
    static const struct {
        enum job_state state;
        const char *name, *reason;
        const char *holding; /* the conditions that are true, with a blank after each */
    } rows[] = {
        {JOB_PENDING, "Pending", "InsufficientIPUs", "Reconciling "},
        {JOB_PENDING, "Pending", "ExceedsCapacity", "Stalled "},
        {JOB_PENDING, "Pending", "ScaledToZero", "Ready "},
        {JOB_STARTING, "Starting", "StartingPods", "Reconciling "},
        {JOB_RUNNING, "Running", "Running", "Reconciling "}, /* not all pods */
        {JOB_RUNNING, "Running", "PodsNotReady", "Reconciling "},
        {JOB_RESTARTING, "Restarting", "PodDeleted", "Reconciling "},
        {JOB_SUSPENDED, "Suspended", "Suspended", "Suspended Ready "},
        {JOB_COMPLETED, "Completed", "Completed", "Completed Finished Ready "},
        {JOB_FAILED, "Failed", "ContainerFailed", "Failed Finished Stalled "},
        {JOB_TERMINATING, "Terminating", "Terminating", "Reconciling "},
    };
    static const char *const types[] = {"PartitionsReady", "PodsReady", "Running",  "Suspended",
                                        "Completed",       "Failed",    "Finished", "Ready"};

    CHECK_ROWS (row, rows) {
        AUTO(setting) struct setting s;
        AUTO(str) struct str holding = {0};
        struct job_verdict v = verdict(row->state, row->reason, "a sentence");

        setting_init(&s, "{}");
        decide(&s, &v);
        CHECK_STR_EQ(json_str(written(&s), "launcherStatus", ""), row->name);
        CHECK_STR_EQ(json_str(written(&s), "reason", ""), row->reason);
        CHECK_STR_EQ(json_str(written(&s), "lastMessage", ""), "a sentence");
        for (size_t i = 0; i < COUNT_OF(types); i++)
            CHECK(condition(written(&s), types[i]));
        JSON_EACH (item, json_at(written(&s), "conditions")) {
            if (str_eq(json_str(item, "status", ""), "True"))
                str_addf(&holding, "%s ", json_str(item, "type", ""));
            CHECK(*json_str(item, "reason", ""));
            CHECK_STR_EQ(json_str(item, "lastTransitionTime", ""), NOW);
        }
        CHECK_STR_EQ(str_text(&holding), row->holding);
    }
}

TEST(a_running_job_is_ready_in_every_way)
{
    AUTO(setting) struct setting s;
    struct job_verdict v = verdict(JOB_RUNNING, "Running", "Running");

    setting_init(&s, "{}");
    v.running = 2;
    v.all_partitions = v.all_pods = true;
    v.active = 2;
    v.has_started = true;
    decide(&s, &v);
    check_condition(written(&s), "PartitionsReady", true, "PartitionsActive");
    check_condition(written(&s), "PodsReady", true, "PodsRunning");
    check_condition(written(&s), "Running", true, "InstancesRunning");
    check_condition(written(&s), "Completed", false, "NotCompleted");
    check_condition(written(&s), "Failed", false, "NotFailed");
    check_condition(written(&s), "Suspended", false, "NotSuspended");
    check_condition(written(&s), "Finished", false, "NotFinished");
    check_condition(written(&s), "Ready", true, "Running");
    CHECK_INT_EQ(json_i64(written(&s), "currentReplicas", -1), 2);
    CHECK_INT_EQ(json_i64(written(&s), "desiredReplicas", -1), 2);
    CHECK_INT_EQ(json_i64(written(&s), "observedGeneration", -1), 5);
    CHECK_STR_EQ(json_str(written(&s), "selector", ""), "graphcore.ai/job-name=train,graphcore.ai/worker=0");
    CHECK(json_bool(written(&s), "iPUPartitionCreated", false));
    CHECK_STR_EQ(json_str(written(&s), "startTime", ""), NOW);
    CHECK(!json_at(written(&s), "completionTime"));
}

TEST(an_ended_job_is_ready_in_no_way)
{
    AUTO(setting) struct setting s;
    struct job_verdict v = verdict(JOB_COMPLETED, "Completed", ALL_INSTANCES_DONE);

    setting_init(&s, "{\"startTime\":\"" EARLIER "\",\"iPUPartitionCreated\":true}");
    v.all_partitions = v.all_pods = true;
    decide(&s, &v);
    check_condition(written(&s), "PartitionsReady", false, "JobFinished");
    check_condition(written(&s), "Finished", true, "Completed");
    CHECK_STR_EQ(json_str(written(&s), "startTime", ""), EARLIER);
    CHECK_STR_EQ(json_str(written(&s), "completionTime", ""), NOW);
    CHECK(json_bool(written(&s), "iPUPartitionCreated", false));
    CHECK_INT_EQ(json_i64(written(&s), "partitionCounts/active", -1), 0);
}

/* ---- when it is written ---- */

TEST(what_was_written_is_not_written_again)
{
    AUTO(setting) struct setting s;
    struct job_verdict v = verdict(JOB_RUNNING, "Running", "Running");

    setting_told(&s, &v);
    decide(&s, &v);
    CHECK_INT_EQ(s.plan.count, 0);
    s.view.now_unix_s += 1000000; /* time alone changes nothing */
    decide(&s, &v);
    CHECK_INT_EQ(s.plan.count, 0);
    CHECK_INT_EQ(s.plan.again_at_ms, 0);
}

TEST(numbers_inside_a_sentence_change_at_most_once_a_minute)
{
    AUTO(setting) struct setting s;
    struct job_verdict v = verdict(JOB_PENDING, "InsufficientIPUs", "64 of 64 are taken");

    setting_told(&s, &v);
    v.message = (char *)(uintptr_t) "32 of 64 are taken";
    pass_s(&s, 20);
    decide(&s, &v);
    CHECK(!find(&s.plan, OP_STATUS));
    CHECK_INT_EQ(s.plan.again_at_ms, s.view.now_ms + 40000);
    pass_s(&s, 40);
    decide(&s, &v);
    CHECK_STR_EQ(json_str(written(&s), "lastMessage", ""), "32 of 64 are taken");
    CHECK(!find(&s.plan, OP_EVENT));
}

TEST(the_first_of_many_pods_waits_for_the_others)
{
    AUTO(setting) struct setting s;
    struct job_verdict v = verdict(JOB_STARTING, "StartingPods", "0 of 8 pods are running");

    setting_told(&s, &v);
    pass_s(&s, 3600);
    v.message = (char *)(uintptr_t) "1 of 8 pods are running";
    v.active = 1;
    decide(&s, &v);
    CHECK(!find(&s.plan, OP_STATUS));
    CHECK_INT_EQ(s.plan.again_at_ms, s.view.now_ms + STATUS_SETTLE_MS);
    pass_s(&s, 9);
    v.message = (char *)(uintptr_t) "2 of 8 pods are running"; /* more of it does not make it wait longer */
    decide(&s, &v);
    CHECK_INT_EQ(s.plan.again_at_ms, s.view.now_ms + 1000);
    pass_s(&s, 1);
    decide(&s, &v);
    CHECK_STR_EQ(json_str(written(&s), "lastMessage", ""), "2 of 8 pods are running");
}

TEST(the_number_of_pods_alone_is_reported_once_a_minute)
{
    AUTO(setting) struct setting s;
    struct job_verdict v = verdict(JOB_RUNNING, "Running", "Running");

    setting_init(&s, "{}");
    v.active = 2;
    decide(&s, &v);
    keep(&s);
    v.active = 1;
    v.succeeded = 1;
    decide(&s, &v);
    CHECK_INT_EQ(s.plan.count, 0);
    pass_s(&s, 60);
    decide(&s, &v);
    CHECK_INT_EQ(json_i64(written(&s), "workersStatus/succeeded", 0), 1);
    keep(&s);
    v = verdict(JOB_COMPLETED, "Completed", "All instances done"); /* with news the numbers go at once */
    v.succeeded = 2;
    decide(&s, &v);
    CHECK_INT_EQ(json_i64(written(&s), "workersStatus/succeeded", 0), 2);
}

TEST(the_status_tells_since_when_an_instance_waits)
{
    AUTO(setting) struct setting s;
    struct claim_wait wait = {.controller = "a:1", .position = CLAIMS_POSITIONS + 1};
    struct job_verdict v = verdict(JOB_PENDING, "Queued", "64 instances ahead in the queue");

    setting_init(&s, "{}");
    v.wait = &wait;
    s.view.turn_s = NOW_S - 30;
    decide(&s, &v);
    CHECK_STR_EQ(json_str(written(&s), "queue/since", ""), EARLIER);
    CHECK(!json_at(written(&s), "queue/position"));
}

TEST(the_status_keeps_the_turn_of_a_job_that_is_not_its_creation)
{
    static const struct {
        enum job_state state;
        const char *reason;
        int64_t turn_s;
        const char *kept;
    } rows[] = {
        {JOB_PENDING, "QueueFull", NOW_S - 30, EARLIER}, {JOB_RUNNING, "Running", NOW_S - 30, EARLIER},
        {JOB_RUNNING, "Running", NOW_S - 60, ""},        {JOB_SUSPENDED, "Suspended", NOW_S - 30, ""},
        {JOB_COMPLETED, "Completed", NOW_S - 30, ""},
    };

    CHECK_ROWS (row, rows) {
        AUTO(setting) struct setting s;
        struct job_verdict v = verdict(row->state, row->reason, "");

        setting_init(&s, "{}");
        s.job->created_s = NOW_S - 60;
        s.view.turn_s = row->turn_s;
        decide(&s, &v);
        CHECK_STR_EQ(json_str(written(&s), "queuedSince", ""), row->kept);
        CHECK(!json_at(written(&s), "queue"));
    }
}

/* The API server may have rejected a pod of a later try, with the pod's own values in its words. */
TEST(the_cause_of_a_failed_start_has_a_limit)
{
    AUTO(setting) struct setting s;
    AUTO(mem) char *text = mem_printf("%*s", 2 * STATUS_MESSAGE_MAX, "too long");
    struct job_verdict v = verdict(JOB_PENDING, "InsufficientIPUs", "64 of 64 are taken");

    setting_init(&s, "{}");
    s.view.requeues = 1;
    s.view.create_reason = "PodsRejected";
    s.view.create_text = text;
    decide(&s, &v);
    CHECK_INT_EQ(strlen(json_str(written(&s), "startFailure/message", "")),
                 STATUS_MESSAGE_MAX + strlen("..."));
}

TEST(control_characters_of_a_log_are_shown_as_text)
{
    AUTO(setting) struct setting s;
    struct job_verdict v = verdict(JOB_FAILED, "ContainerFailed", "exited with code 1: \x1b[2Jok\r\xff");
    static const char shown[] = "exited with code 1: \\x1b[2Jok\\r\\xff";

    setting_init(&s, "{\"failures\":[{\"instance\":0,\"message\":\"one\\ntwo\\u009b\"}]}");
    decide(&s, &v);
    CHECK_STR_EQ(json_str(written(&s), "lastMessage", ""), shown);
    CHECK_STR_EQ(json_str(status_condition(written(&s), "Failed"), "message", ""), shown);
    CHECK_STR_EQ(json_str(json_at(written(&s), "failures")->child, "message", ""), "one\ntwo\\u009b");
}

TEST(a_clock_that_went_back_does_not_silence_the_status)
{
    AUTO(setting) struct setting s;
    struct job_verdict v = verdict(JOB_PENDING, "InsufficientIPUs", "64 of 64 are taken");

    setting_told(&s, &v);
    v.message = (char *)(uintptr_t) "32 of 64 are taken";
    s.view.now_unix_s -= 3600;
    decide(&s, &v);
    CHECK_INT_EQ(s.plan.again_at_ms, s.view.now_ms + STATUS_SETTLE_MS);
    s.view.now_ms += STATUS_SETTLE_MS;
    decide(&s, &v);
    CHECK(find(&s.plan, OP_STATUS));
}

TEST(another_reason_is_reported_at_once)
{
    AUTO(setting) struct setting s;
    struct job_verdict v = verdict(JOB_PENDING, "InsufficientIPUs", "64 of 64 are taken");

    setting_told(&s, &v);
    v.reason = "Queued";
    v.message = (char *)(uintptr_t) "team/a is first in line";
    s.view.now_unix_s++;
    decide(&s, &v);
    CHECK_STR_EQ(json_str(written(&s), "reason", ""), "Queued");
    CHECK_STR_EQ(find(&s.plan, OP_EVENT)->reason, "Queued");
}

TEST(a_transition_time_moves_only_with_the_condition)
{
    AUTO(setting) struct setting s;
    struct job_verdict v = verdict(JOB_STARTING, "StartingPods", "a");

    setting_told(&s, &v);
    s.view.now_unix_s += 100;
    v = verdict(JOB_RUNNING, "Running", "b");
    v.running = 1;
    decide(&s, &v);
    CHECK_STR_EQ(json_str(condition(written(&s), "Running"), "lastTransitionTime", ""),
                 "2026-09-21T14:15:00Z");
    CHECK_STR_EQ(json_str(condition(written(&s), "Failed"), "lastTransitionTime", ""), NOW);
    CHECK_STR_EQ(json_str(condition(written(&s), "Failed"), "lastUpdateTime", ""), NOW);
    CHECK_STR_EQ(json_str(condition(written(&s), "PartitionsReady"), "lastTransitionTime", ""), NOW);
    CHECK_STR_EQ(json_str(condition(written(&s), "PartitionsReady"), "lastUpdateTime", ""),
                 "2026-09-21T14:15:00Z");
}

/* A merge patch keeps what it does not name. */
TEST(what_is_gone_is_named)
{
    AUTO(setting) struct setting s;
    struct job_verdict v = verdict(JOB_PENDING, "Queued", "a");

    setting_init(&s, "{\"completionTime\":\"" EARLIER "\",\"completedInstances\":\"0\",\"unheardOf\":1}");
    decide(&s, &v);
    CHECK(cJSON_IsNull(json_at(written(&s), "completionTime")));
    CHECK(cJSON_IsNull(json_at(written(&s), "completedInstances")));
    CHECK(cJSON_IsNull(json_at(written(&s), "unheardOf")));
}

TEST(events_report_what_changed_and_warn_of_failures)
{
    static const struct {
        const char *before;
        enum job_state state;
        const char *reason;
        bool event, warning;
    } rows[] = {
        {"{}", JOB_PENDING, "InsufficientIPUs", true, false},
        {"{\"launcherStatus\":\"Pending\",\"reason\":\"InsufficientIPUs\"}", JOB_PENDING, "InsufficientIPUs",
         false, false},
        {"{\"launcherStatus\":\"Pending\",\"reason\":\"InsufficientIPUs\"}", JOB_PENDING, "Queued", true,
         false},
        {"{\"launcherStatus\":\"Pending\",\"reason\":\"InsufficientIPUs\"}", JOB_STARTING,
         "CreatingPartition", false, false},
        {"{\"launcherStatus\":\"Starting\",\"reason\":\"CreatingPartition\"}", JOB_STARTING, "StartingPods",
         false, false},
        {"{\"launcherStatus\":\"Starting\",\"reason\":\"StartingPods\"}", JOB_STARTING, "Unschedulable", true,
         true},
        {"{\"launcherStatus\":\"Running\",\"reason\":\"Running\"}", JOB_RESTARTING, "PodDeleted", true, true},
        {"{\"launcherStatus\":\"Running\",\"reason\":\"Running\"}", JOB_FAILED, "ContainerFailed", true,
         true},
        {"{\"launcherStatus\":\"Running\",\"reason\":\"Running\"}", JOB_COMPLETED, "Completed", true, false},
        /* Running was reported at the start: other instances run on */
        {"{\"launcherStatus\":\"Running\",\"reason\":\"ContainerFailed\"}", JOB_RUNNING, "Running", false,
         false},
        {"{\"launcherStatus\":\"Running\",\"reason\":\"Finishing\"}", JOB_RUNNING, "Running", false, false},
        {"{\"launcherStatus\":\"Running\",\"reason\":\"WriteRejected\"}", JOB_RUNNING, "Running", false,
         false},
        {"{\"launcherStatus\":\"Running\",\"reason\":\"StartingPods\"}", JOB_RUNNING, "Running", true, false},
        {"{\"launcherStatus\":\"Restarting\",\"reason\":\"ContainerFailed\"}", JOB_RUNNING, "Running", true,
         false},
    };

    CHECK_ROWS (row, rows) {
        AUTO(setting) struct setting s;
        struct job_verdict v = verdict(row->state, row->reason, "a");
        const struct op *event;

        setting_init(&s, row->before);
        decide(&s, &v);
        event = find(&s.plan, OP_EVENT);
        CHECK_INT_EQ(event != NULL, row->event);
        if (event)
            CHECK_INT_EQ(event->warning, row->warning);
    }
}

/* ---- bounds ---- */

TEST(a_message_of_the_api_server_is_cut)
{
    AUTO(setting) struct setting s;
    AUTO(str) struct str text = {0};
    struct job_verdict v;

    setting_init(&s, "{}");
    str_addc(&text, 'x');
    for (int i = 0; i < 5000; i++)
        str_adds(&text, "\xC3\xA4");
    v = verdict(JOB_FAILED, "InvalidPodTemplate", str_text(&text));
    decide(&s, &v);
    CHECK_INT_EQ(strlen(json_str(written(&s), "lastMessage", "")), 4095 + 3);
    CHECK(str_has_suffix(json_str(written(&s), "lastMessage", ""), "\xC3\xA4..."));
    CHECK(str_has_suffix(json_str(condition(written(&s), "Failed"), "message", ""), "..."));
}

TEST(at_most_sixteen_partitions_are_listed_and_all_are_counted)
{
    enum { INSTANCES = 20 };
    AUTO(setting) struct setting s;
    struct record records[INSTANCES] = {{0}};
    struct instance_view instances[INSTANCES] = {{0}};
    struct job_verdict v = verdict(JOB_RUNNING, "Running", "a");

    setting_init(&s, "{}");
    for (uint32_t i = 0; i < INSTANCES; i++) {
        records[i] = (struct record){.name = mem_printf("p-%u", i),
                                     .controller = (char *)(uintptr_t) "v:1",
                                     .instance = i,
                                     .size = 4,
                                     .gcds = 1};
        instances[i] =
            (struct instance_view){.index = i, .record = &records[i], .partition.state = PARTITION_ACTIVE};
    }
    s.view.live = instances;
    s.view.live_count = s.view.instance_count = INSTANCES;
    v.with_partition = INSTANCES;
    decide(&s, &v);
    CHECK_INT_EQ(cJSON_GetArraySize(json_at(written(&s), "partitions")), STATUS_PARTITIONS_MAX);
    CHECK_INT_EQ(json_i64(written(&s), "partitionCounts/total", -1), INSTANCES);
    CHECK_INT_EQ(json_i64(written(&s), "partitionCounts/active", -1), INSTANCES);
    for (uint32_t i = 0; i < INSTANCES; i++)
        mem_free(records[i].name);
}

TEST(a_partition_is_reported_with_its_state)
{
    static const struct {
        enum partition_state state;
        bool started;
        const char *reported;
    } rows[] = {
        {PARTITION_ACTIVE, true, "Active"},     {PARTITION_ACTIVE, false, "Active"},
        {PARTITION_PENDING, false, "Creating"}, {PARTITION_PENDING, true, "Resetting"},
        {PARTITION_ABSENT, false, "Creating"},  {PARTITION_ABSENT, true, "Missing"},
        {PARTITION_ERROR, true, "Error"},       {PARTITION_UNKNOWN, true, "Active"},
        {PARTITION_UNKNOWN, false, "Creating"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(setting) struct setting s;
        struct record record = {.name = (char *)(uintptr_t) "p-0", .started = row->started};
        struct instance_view inst = {.record = &record, .partition.state = row->state};
        struct job_verdict v = verdict(JOB_RUNNING, "Running", "a");

        setting_init(&s, "{}");
        s.view.live = &inst;
        s.view.live_count = s.view.instance_count = 1;
        decide(&s, &v);
        CHECK_STR_EQ(json_str(json_at(written(&s), "partitions")->child, "state", ""), row->reported);
    }
}

TEST(a_record_that_only_keeps_an_id_is_no_partition)
{
    static const struct {
        struct tombstone_view tomb;
        bool releasing;
        const char *reported; /* NULL: not at all */
    } rows[] = {
        {{.partition.state = PARTITION_ACTIVE}, true, "Removing"},
        {{.partition.state = PARTITION_ACTIVE}, false, "Held"},
        {{.partition.state = PARTITION_ABSENT, .partition.busy = true}, true, "Removing"},
        {{.partition.state = PARTITION_ABSENT}, true, NULL},
    };

    CHECK_ROWS (row, rows) {
        AUTO(setting) struct setting s;
        struct record record = {.name = (char *)(uintptr_t) "p-0", .releasing = row->releasing};
        struct tombstone_view tomb = row->tomb;
        struct job_verdict v = verdict(JOB_RUNNING, "Running", "a");

        setting_init(&s, "{}");
        tomb.record = &record;
        s.view.tombstones = &tomb;
        s.view.tombstone_count = 1;
        if (str_eq(row->reported, "Held"))
            plan_hold(&s.plan, "p-0", mem_strdup("holding it"));
        status_decide(&s.view, s.before, &v, &s.plan);
        CHECK_INT_EQ(json_i64(written(&s), "partitionCounts/total", -1), row->reported != NULL);
        if (row->reported)
            CHECK_STR_EQ(json_str(json_at(written(&s), "partitions")->child, "state", ""), row->reported);
    }
}

/* ---- failures ---- */

static struct failure failure_at(struct pod *pod, uint32_t attempt)
{
    struct failure failure = {.reason = "ContainerFailed",
                              .pod_name = "train-worker-0",
                              .pod = pod,
                              .at_s = NOW_S,
                              .attempt = attempt};

    *pod = (struct pod){.name = (char *)(uintptr_t) "train-worker-0",
                        .node = (char *)(uintptr_t) "n1",
                        .failed_container = (char *)(uintptr_t) "main",
                        .exit_code = 137,
                        .exit_signal = 9,
                        .oom_killed = true,
                        .failed_s = NOW_S,
                        .message = (char *)(uintptr_t) "last words"};
    return failure;
}

TEST(a_failure_is_reported_once_with_node_and_last_words)
{
    AUTO(setting) struct setting s;
    struct job_verdict v = verdict(JOB_RESTARTING, "Restarting", "again");
    struct pod pod;
    struct failure failure = failure_at(&pod, 0);

    setting_init(&s, "{}");
    v.failures = &failure;
    v.failure_count = 1;
    decide(&s, &v);
    CHECK_INT_EQ(s.plan.count, 3);
    CHECK_STR_EQ(s.plan.ops[0].reason, "ContainerFailed");
    CHECK_STR_EQ(s.plan.ops[0].text,
                 "Container main of pod train-worker-0 was killed by SIGKILL (exit code 137); node n1; "
                 "last lines: last words");
    CHECK_STR_EQ(s.plan.ops[1].reason, "Restarting");
    keep(&s);
    decide(&s, &v);
    CHECK_INT_EQ(s.plan.count, 0);
    v.failure_count = 0;
    decide(&s, &v);
    CHECK_INT_EQ(s.plan.count, 0); /* and stays when its pod has gone */
}

/* One event says it all when the failure is the job's end. */
TEST(the_end_by_a_failure_is_one_event)
{
    AUTO(setting) struct setting s;
    struct job_verdict v = verdict(JOB_FAILED, "ContainerFailed", "it failed");
    struct pod pod;
    struct failure failure = failure_at(&pod, 0);

    setting_init(&s, "{}");
    v.failures = &failure;
    v.failure_count = 1;
    decide(&s, &v);
    CHECK_INT_EQ(s.plan.count, 2);
    CHECK(s.plan.ops[0].warning);
    CHECK_HAS(s.plan.ops[0].text, "last lines: last words");
}

/* ---- the definition knows every field ---- */

static void check_described(const cJSON *value, const cJSON *schema, const char *path)
{
    const char *type = json_str(schema, "type", "");

    if (!schema)
        CHECK_FAIL(
            "%s is not in the IPUJob definition: the API server would drop it, and it would be written for "
            "ever",
            path);
    if (cJSON_IsString(value))
        CHECK_STR_EQ(type, "string");
    else if (cJSON_IsNumber(value))
        CHECK_STR_EQ(type, "integer");
    else if (cJSON_IsBool(value))
        CHECK_STR_EQ(type, "boolean");
    else if (cJSON_IsArray(value))
        CHECK_STR_EQ(type, "array");
    else
        CHECK_STR_EQ(type, "object");
    JSON_EACH (child, value) {
        const char *key = json_key(child);
        AUTO(mem) char *where = mem_printf("%s.%s", path, key ? key : "[]");
        AUTO(mem) char *property = mem_printf("properties/%s", key ? key : "");

        check_described(child, json_at(schema, key ? property : "items"), where);
    }
}

TEST(the_api_server_keeps_every_field_of_a_status)
{
    AUTO(setting) struct setting s;
    AUTO(mem) char *text = golden_read("../../charts/ipu-operator/crds/ipujobs.graphcore.ai.yaml");
    const char *from = strstr(text, "\n            status:\n"); /* the part without aliases */
    AUTO(yaml) struct yaml_doc doc = {0};
    struct err err = {0};
    struct pod pod;
    struct failure failure = failure_at(&pod, 1);
    struct record record = {.name = (char *)(uintptr_t) "p-0", .controller = (char *)(uintptr_t) "v:1"};
    struct instance_view inst = {.record = &record};
    struct job_forecast_place place = {(char *)(uintptr_t) "ild0", 15};
    struct job_forecast forecast = {
        .basis = "Bounds", .controller = "v:1", .places = &place, .place_count = 1};
    struct claim_wait wait = {.controller = (char *)(uintptr_t) "v:1"};
    struct job_verdict v = verdict(JOB_RUNNING, "Running", "a");

    CHECK(from);
    CHECK_OK(yaml_parse(slice_of(from), "crd", &doc, &err), err);
    setting_init(&s, "{\"completionTime\":null}");
    s.view.live = &inst;
    s.view.live_count = s.view.instance_count = 1;
    indexset_add(&v.done, 0);
    indexset_add(&v.broken, 1);
    v.failures = &failure;
    v.failure_count = 1;
    v.wait = &wait;
    s.view.forecast = &forecast;
    decide(&s, &v);
    keep(&s);
    check_described(s.before, json_at(doc.root, "status"), "status");
    v.state = JOB_COMPLETED;
    decide(&s, &v);
    keep(&s);
    check_described(s.before, json_at(doc.root, "status"), "status");
    indexset_release(&v.done);
    indexset_release(&v.broken);
}

/* ---- forecast ---- */

static const struct claim_wait waits = {.reason = "Queued", .text = (char *)(uintptr_t) "Waiting for 4 IPUs"};

static struct job_forecast in_minutes(int64_t minutes)
{
    int64_t at_s = NOW_S + minutes * 60;

    return (struct job_forecast){
        .position = 2, .basis = "History", .earliest_s = at_s, .expected_s = at_s, .latest_s = at_s};
}

/* Details that have settled, and nothing else was written of late. */
static void decide_late(struct setting *s, const struct job_verdict *verdict)
{
    decide(s, verdict);
    pass_s(s, 60);
    decide(s, verdict);
}

TEST(the_first_forecast_is_reported_at_once_and_another_once_a_minute)
{
    struct job_verdict v = verdict(JOB_PENDING, "Queued", "Waiting for 4 IPUs");
    struct job_forecast forecast = in_minutes(10), later = in_minutes(20);
    AUTO(setting) struct setting s;

    v.wait = &waits;
    setting_told(&s, &v);
    s.view.forecast = &forecast;
    decide(&s, &v);
    CHECK_STR_EQ(json_str(written(&s), "forecast/expected", NULL), "2026-09-21T14:23:20Z");
    CHECK_STR_EQ(json_str(written(&s), "lastMessage", NULL),
                 "Waiting for 4 IPUs; expected to start at 14:23 UTC");
    keep(&s);
    pass_s(&s, 20);
    decide(&s, &v); /* time alone changes nothing */
    CHECK_INT_EQ(s.plan.count, 0);
    CHECK_INT_EQ(s.plan.again_at_ms, 0);
    s.view.forecast = &later;
    decide(&s, &v);
    CHECK(!find(&s.plan, OP_STATUS));
    CHECK_INT_EQ(s.plan.again_at_ms, s.view.now_ms + 40000);
    pass_s(&s, 40);
    decide(&s, &v);
    CHECK_STR_EQ(json_str(written(&s), "forecast/expected", NULL), "2026-09-21T14:33:20Z");
    CHECK_STR_EQ(json_str(written(&s), "lastMessage", NULL),
                 "Waiting for 4 IPUs; expected to start at 14:33 UTC");
    CHECK(!find(&s.plan, OP_EVENT));
}

TEST(a_new_leader_keeps_the_forecast_until_it_has_its_own)
{
    struct job_verdict v = verdict(JOB_PENDING, "Queued", "Waiting for 4 IPUs");
    struct job_forecast forecast = in_minutes(10);
    AUTO(setting) struct setting s;

    v.wait = &waits;
    setting_told(&s, &v);
    s.view.forecast = &forecast;
    decide(&s, &v);
    keep(&s);
    pass_s(&s, 60);
    s.view.forecast = NULL;
    decide(&s, &v);
    CHECK_INT_EQ(s.plan.count, 0);
    s.view.is_far_behind = true;
    decide_late(&s, &v);
    CHECK(cJSON_IsNull(json_at(written(&s), "forecast")));
    CHECK_STR_EQ(json_str(written(&s), "lastMessage", NULL), "Waiting for 4 IPUs");
}

TEST(the_message_says_between_which_times_it_starts)
{
    static const struct {
        const char *earliest, *latest, *text;
    } rows[] = {
        {"2026-09-21T16:40:00Z", "2026-09-21T18:10:00Z", "expected to start between 16:40 and 18:10 UTC"},
        {"2026-09-21T23:40:00Z", "2026-09-22T01:10:00Z",
         "expected to start between 2026-09-21 23:40 and 2026-09-22 01:10 UTC"},
        {"2026-09-22T01:00:00Z", "2026-09-22T01:00:00Z", "expected to start at 2026-09-22 01:00 UTC"},
        {"2026-09-21T16:40:00Z", "open", "expected to start after 16:40 UTC"},
        {"soon", "2026-09-21T16:40:00Z", NULL}, /* a user has edited it */
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO(json) cJSON *forecast = json_object();
        AUTO(mem) char *text = NULL;

        json_put_str(forecast, "earliest", rows[i].earliest);
        json_put_str(forecast, "latest", rows[i].latest);
        text = job_forecast_describe(forecast, NOW_S);
        if (rows[i].text)
            CHECK_STR_EQ(text, rows[i].text);
        else
            CHECK(!text);
    }
    CHECK(!job_forecast_describe(NULL, NOW_S));
}

TEST(who_runs_in_part_tells_no_start)
{
    struct job_verdict v = verdict(JOB_RUNNING, "PodWaiting", "Pod a is waiting");
    struct job_forecast forecast = in_minutes(10);
    AUTO(setting) struct setting s;

    v.wait = &waits;
    setting_told(&s, &v);
    s.view.forecast = &forecast;
    decide(&s, &v);
    CHECK_STR_EQ(json_str(written(&s), "lastMessage", NULL), "Pod a is waiting");
}

TEST(who_waits_no_more_has_no_forecast)
{
    struct job_verdict v = verdict(JOB_PENDING, "Queued", "Waiting for 4 IPUs");
    struct job_forecast forecast = in_minutes(10);
    AUTO(setting) struct setting s;

    v.wait = &waits;
    setting_told(&s, &v);
    s.view.forecast = &forecast;
    decide(&s, &v);
    keep(&s);
    v = verdict(JOB_STARTING, "Starting", "Starting");
    decide(&s, &v);
    CHECK(cJSON_IsNull(json_at(written(&s), "forecast")));
}

/* ---- progress ---- */

/* Others write it, and a merge patch removes what it names as null. */
TEST(reported_progress_is_kept)
{
    struct job_verdict v = verdict(JOB_RUNNING, "Running", "Running");
    AUTO(setting) struct setting s;

    setting_told(&s, &v);
    json_put_str(json_put_object(s.before, "progress"), "summary", "42%");
    json_put_i64(json_put_object(s.before, "trainerStatus"), "progressPercentage", 42);
    decide(&s, &v);
    CHECK(!find(&s.plan, OP_STATUS));
    v = verdict(JOB_COMPLETED, "Completed", "Completed");
    decide(&s, &v);
    CHECK_STR_EQ(json_str(written(&s), "progress/summary", NULL), "42%");
    CHECK_INT_EQ(json_i64(written(&s), "trainerStatus/progressPercentage", 0), 42);
}
