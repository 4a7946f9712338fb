/* A partition is held while processes may still use it: the job says until when, and how to end that. */
#include "scenario.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/reconcile/decide/run/hold.h"

#define COMMAND "If none is running, release it now: kubectl annotate -n ns ipujob job graphcore.ai/release="
/* Virtual time begins there. */
#define HELD                                                                                                 \
    "holding partition p-job-ns-0 until 2026-09-21T14:35:00Z: processes of pod job-worker-0 on node "        \
    "node-of-pod-1 may still be running. " COMMAND "p-job-ns-0"

static unsigned count_events(const struct world *w, const char *reason)
{
    unsigned count = 0;

    for (size_t i = 0; i < w->event_reasons.count; i++)
        count += str_eq(w->event_reasons.items[i], reason);
    return count;
}

static const char *note_of(const struct world *w, const char *reason)
{
    for (size_t i = 0; i < w->event_reasons.count; i++) {
        if (str_eq(w->event_reasons.items[i], reason))
            return w->event_notes.items[i];
    }
    CHECK_FAIL("no event %s", reason);
}

static const char *first_partition(const struct world *w)
{
    const cJSON *list = json_at(w->status, "partitions");

    return json_str(list ? list->child : NULL, "state", "");
}

static struct world *lost(const char *spec)
{
    struct world *w = running(spec);

    world_pod_vanish(w, pod(w, "job-worker-0"), false); /* by force: its process lives on */
    return w;
}

static void check_told(struct world *w, const char *text)
{
    CHECK_STR_EQ(world_said(w, "reason"), "TerminationUnconfirmed");
    CHECK_STR_EQ(world_said(w, "lastMessage"), text);
    CHECK_STR_EQ(first_partition(w), "Held");
    CHECK_INT_EQ(count_events(w, "TerminationUnconfirmed"), 1);
    CHECK_STR_EQ(note_of(w, "TerminationUnconfirmed") + 1, &HELD[1]);
    CHECK_INT_EQ(note_of(w, "TerminationUnconfirmed")[0], 'H');
    world_pass(w, MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "lastMessage"), text);
    CHECK_INT_EQ(count_events(w, "TerminationUnconfirmed"), 1);
    check_idle(w);
}

TEST(a_restart_says_until_when_it_waits)
{
    AUTO(world) struct world *w = lost(ONE);

    world_settle(w);
    check_told(w, "Pod job-worker-0 on node node-of-pod-1 disappeared without terminating; " HELD);
}

TEST(a_deletion_says_until_when_it_waits)
{
    AUTO(world) struct world *w = lost(ONE);

    world_delete_job(w);
    world_settle(w);
    check_told(w, "Deleting: " HELD);
    world_pass(w, WORLD_HOLD_MS - MINUTE_MS);
    CHECK(!w->exists);
}

TEST(a_suspension_says_until_when_it_waits)
{
    AUTO(world) struct world *w = lost(ONE);

    world_set_spec(w, "suspend", "true");
    world_settle(w);
    check_told(w, "Suspending: " HELD);
}

TEST(a_pod_that_does_not_end_is_a_hold_when_its_grace_has_passed)
{
    AUTO(world) struct world *w = running(ONE);

    pod(w, "job-worker-0")->node_silent = true;
    world_delete_job(w);
    world_settle(w);
    check_state(w, "Terminating", "Terminating", "Deleting: waiting for pods of instance 0 to terminate");
    world_pass(w, MINUTE_MS);
    check_told(w, "Deleting: " HELD);
}

TEST(what_a_finished_job_holds_is_an_event_and_its_message_stays)
{
    AUTO(world) struct world *w = running(SPEC("\"jobInstances\":1,\"activeDeadlineSeconds\":1,"));

    pod(w, "job-worker-0")->node_silent = true;
    world_pass(w, 1000);
    CHECK_STR_EQ(world_said(w, "reason"), "DeadlineExceeded");
    world_pass(w, MINUTE_MS); /* its grace period and what a kubelet needs: it is deleted */
    world_pass(w, MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "reason"), "DeadlineExceeded");
    CHECK_HAS(world_said(w, "lastMessage"), "Stopped after 1 s");
    CHECK_STR_EQ(first_partition(w), "Held");
    CHECK_INT_EQ(count_events(w, "TerminationUnconfirmed"), 1);
    world_pass(w, WORLD_HOLD_MS);
    CHECK_STR_EQ(first_partition(w), "");
    check_nothing_held(w);
}

TEST(the_command_keeps_what_the_annotation_has)
{
    static const struct {
        const char *before, *command;
    } rows[] = {
        {"p-old", COMMAND "p-old,p-job-ns-0 --overwrite"},
        {"a,b.c", COMMAND "a,b.c,p-job-ns-0 --overwrite"},
        {"x; rm -rf /", COMMAND "p-job-ns-0 --overwrite"}, /* whoever reads the command runs it */
        {"$(reboot)", COMMAND "p-job-ns-0 --overwrite"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(world) struct world *w = lost(ONE);
        const char *told;

        w->release = row->before;
        world_settle(w);
        told = strstr(world_said(w, "lastMessage"), "If none");
        CHECK_STR_EQ(told, row->command);
    }
}

/* ---- a partition that is gone is not held ---- */

TEST(a_partition_that_v_ipu_lists_as_gone_is_not_held)
{
    static const struct {
        const char *field, *value; /* NULL: the job is deleted */
    } rows[] = {{NULL, NULL}, {"suspend", "true"}, {"jobInstances", "0"}};

    CHECK_ROWS (row, rows) {
        AUTO(world) struct world *w = lost(ONE);
        int64_t before_ms;

        if (row->field)
            world_set_spec(w, row->field, row->value);
        else
            world_delete_job(w);
        world_settle(w);
        CHECK_INT_EQ(world_held(w), 1);
        before_ms = w->now_ms;
        world_partition_disturb(w, "p-job-ns-0", PARTITION_ABSENT);
        world_settle(w);
        CHECK_INT_EQ(w->now_ms, before_ms);
        /* It reserves no IPUs, and its id is not used: a process that lives on would find the next one. */
        CHECK_STR_EQ(json_str(world_record(w, "p-job-ns-0"), "data/releasing", ""), "true");
        CHECK_STR_EQ(json_str(world_record(w, "p-job-ns-0"), "data/reason", ""), "TerminationUnconfirmed");
        CHECK_INT_EQ(world_is_spent(w, "p-job-ns-0"), !row->field);
        CHECK_INT_EQ(w->exists, row->field != NULL);
        CHECK_INT_EQ(count_events(w, "TerminationUnconfirmed"), 1);
    }
}

TEST(an_instance_whose_partition_is_gone_starts_on_another_at_once)
{
    AUTO(world) struct world *w = lost(ONE);

    world_settle(w);
    CHECK_STR_EQ(world_said(w, "reason"), "TerminationUnconfirmed");
    world_partition_disturb(w, "p-job-ns-0", PARTITION_ABSENT);
    world_settle(w);
    check_state(w, "Running", "Running", "Running");
    CHECK_STR_EQ(pod(w, "job-worker-0")->partition, "p-job-0a1b2c3d4e-0-1");
    CHECK(world_is_spent(w, "p-job-ns-0"));
}

TEST(a_pod_that_ends_on_a_partition_that_is_gone_has_its_grace)
{
    AUTO(world) struct world *w = running(ONE);

    pod(w, "job-worker-0")->node_silent = true;
    world_delete_job(w);
    world_partition_disturb(w, "p-job-ns-0", PARTITION_ABSENT);
    world_settle(w);
    CHECK_INT_EQ(world_held(w), 1);
    world_pass(w, MINUTE_MS);
    CHECK_INT_EQ(world_held(w), 0);
    CHECK(!w->exists);
}

/* The rest follows when these are released. */
TEST(a_command_names_no_more_partitions_than_an_event_has_room_for)
{
    AUTO(plan) struct plan plan = {0};
    struct job job = {0};
    const struct job_view view = {.job = &job, .ns = "ns", .name = "job"};

    plan_hold(&plan, "p-job-ns-0", mem_strdup("holding partition p-job-ns-0"));
    for (unsigned i = 1; i < 200; i++) {
        AUTO(mem) char *id = mem_printf("p-job-ns-%u", i);

        plan_hold(&plan, id, mem_strdup(""));
    }
    AUTO(mem) char *text = hold_describe(&view, &plan);

    CHECK(strlen(text) <= 1024 && strlen(text) > 900);
    CHECK_HAS(text,
              "holding partition p-job-ns-0. If none is running, release the first 72 of 200 now: kubectl "
              "annotate -n ns ipujob job graphcore.ai/release=p-job-ns-0,p-job-ns-1,");
    CHECK_STR_EQ(strrchr(text, ','), ",p-job-ns-71");
}
