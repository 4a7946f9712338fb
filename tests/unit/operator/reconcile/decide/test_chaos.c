/* Thousands of seeded histories: pods that come and go seen or unseen, nodes that fall silent, an operator
 * that dies in the middle of a plan, a controller that does not answer, users who change their minds. What
 * must never happen is checked at every step by world_act.c; here, that everything comes to its end when the
 * world calms down, and that a plan that was performed is not planned again. CHAOS_SEED=n replays one
 * history, CHAOS_SEEDS=n runs so many. */
#include <stdio.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/api/job/job_finished.h"
#include "world.h"

#define SEEDS 250
#define STEPS 150
#define CALM_ROUNDS 400
#define SETTLE_ROUNDS 8
#define STATUS_WRITES_MAX 400

static void say(struct world *w, const char *what)
{
    w->story = what;
    if (getenv("WORLD_TRACE"))
        (void)fprintf(stderr, "== %lld ms: %s\n", (long long)w->now_ms, what);
}

/* ---- what can happen ---- */

static struct wpod *some_pod(struct world *w, bool (*fits)(const struct wpod *))
{
    size_t start = w->pod_count ? world_roll(w, w->pod_count) : 0;

    for (size_t i = 0; i < w->pod_count; i++) {
        struct wpod *pod = w->pods[(start + i) % w->pod_count];

        if (fits(pod))
            return pod;
    }
    return NULL;
}

static bool is_there(const struct wpod *pod)
{
    return pod->exists;
}

static bool is_unscheduled(const struct wpod *pod)
{
    return pod->exists && !pod->node;
}

static bool can_start(const struct wpod *pod)
{
    return pod->exists && pod->node && !pod->process && pod->report <= REPORT_WAITING && !pod->collected &&
           !pod->node_fenced;
}

static bool can_report(const struct wpod *pod)
{
    return pod->exists && pod->process && pod->report <= REPORT_WAITING && !pod->node_silent;
}

static bool can_end(const struct wpod *pod)
{
    return pod->process && !pod->node_silent && pod->exists && !pod->collected;
}

static bool is_lingering(const struct wpod *pod)
{
    return pod->process && !pod->exists;
}

static bool can_obey(const struct wpod *pod)
{
    return pod->exists && world_pod_must_obey(pod) && !pod->node_silent;
}

static bool is_silent(const struct wpod *pod)
{
    return pod->node_silent;
}

static void pods_move(struct world *w)
{
    static const int codes[] = {0, 0, 1, 42};
    struct wpod *pod;

    switch (world_roll(w, 5)) {
    case 0:
        if ((pod = some_pod(w, is_unscheduled)))
            world_pod_schedule(w, pod);
        return;
    case 1:
        if ((pod = some_pod(w, can_start)))
            world_pod_run(w, pod, world_roll(w, 4) > 0);
        return;
    case 2:
        if ((pod = some_pod(w, can_report)))
            world_pod_run(w, pod, true);
        return;
    case 3:
        if ((pod = some_pod(w, can_end)) && world_roll(w, 3) == 0)
            world_pod_end(w, pod, codes[world_roll(w, COUNT_OF(codes))]);
        return;
    default:
        if ((pod = some_pod(w, can_obey)))
            world_pod_obey(w, pod, world_roll(w, 2) ? 143 : 0);
        return;
    }
}

static void pods_suffer(struct world *w)
{
    static const char *const takers[] = {"PreemptionByScheduler", "EvictionByEvictionAPI",
                                         "DeletionByTaintManager"};
    struct wpod *pod;

    switch (world_roll(w, 10)) {
    case 9:
        say(w, "an image cannot be pulled, or can again");
        if ((pod = some_pod(w, can_start))) {
            pod->waits_in = pod->waits_in ? NULL : "ImagePullBackOff";
            world_saw_pod(w, pod);
        }
        return;
    case 8:
        say(w, "a pod is taken away by the cluster");
        if ((pod = some_pod(w, is_there)))
            world_pod_take(w, pod, takers[world_roll(w, COUNT_OF(takers))]);
        return;
    case 0:
        say(w, "a pod is deleted by hand");
        if ((pod = some_pod(w, is_there)))
            world_pod_delete(w, pod);
        return;
    case 1:
        say(w, "a pod is deleted by force");
        if ((pod = some_pod(w, is_there)))
            world_pod_vanish(w, pod, false);
        return;
    case 2:
        say(w, "a pod vanishes unseen");
        if ((pod = some_pod(w, is_there)))
            world_pod_vanish(w, pod, true);
        return;
    case 3:
        say(w, "a node falls silent");
        if ((pod = some_pod(w, is_there)) && pod->node)
            pod->node_silent = true;
        return;
    case 4:
        say(w, "a node comes back");
        if ((pod = some_pod(w, is_silent))) {
            pod->node_silent = false;
            if (pod->exists)
                world_saw_pod(w, pod);
        }
        return;
    case 5:
        say(w, "a node boots anew");
        if ((pod = some_pod(w, is_there)) && pod->node)
            world_pod_fence(w, pod);
        return;
    case 6:
        say(w, "the garbage collector marks a pod");
        if ((pod = some_pod(w, is_there)) && pod->node && pod->report != REPORT_ENDED)
            world_pod_collect(w, pod);
        return;
    default:
        say(w, "a process ends long after its pod");
        if ((pod = some_pod(w, is_lingering)))
            pod->process = false;
        return;
    }
}

static void calls_move(struct world *w, bool may_fail)
{
    struct wtrack *track = w->track_count ? w->tracks[world_roll(w, w->track_count)] : NULL;

    if (track && track->call != CALL_NONE && !w->controller_down)
        world_call_end(w, track,
                       may_fail && world_roll(w, 4) == 0
                           ? (enum wfate)(FATE_DONE_UNKNOWN + world_roll(w, FATE_LATE_UNKNOWN))
                           : FATE_DONE);
    else if (track)
        world_list(w, track);
    if (w->partition_count)
        world_partition_settle(w, &w->partitions[world_roll(w, w->partition_count)]);
}

static void parts_suffer(struct world *w)
{
    struct world_partition *partition =
        w->partition_count ? &w->partitions[world_roll(w, w->partition_count)] : NULL;

    switch (world_roll(w, 5)) {
    case 0:
        say(w, "a partition is removed behind our back");
        if (partition && !partition->is_foreign)
            world_partition_disturb(w, partition->id, PARTITION_ABSENT);
        return;
    case 1:
        say(w, "a partition breaks");
        if (partition && !partition->is_foreign)
            world_partition_disturb(w, partition->id, PARTITION_ERROR);
        return;
    case 2:
        say(w, "somebody takes our id");
        if (!world_partition(w, "p-job-ns-0") && !world_record(w, "p-job-ns-0"))
            world_partition_add(w, "p-job-ns-0", 4, 1, true);
        return;
    case 3:
        say(w, "the controller falls silent or speaks again");
        w->controller_down = !w->controller_down;
        return;
    default:
        say(w, "the controller has no room, or has again");
        w->no_grants = !w->no_grants;
        w->partition_rejection = w->no_grants ? PARTITION_REJECTED_CAPACITY : PARTITION_NOT_REJECTED;
        return;
    }
}

static void change_template(struct world *w)
{
    static const char *const strategies[] = {
        "{\"type\":\"Recreate\"}",
        "{\"rollingUpdate\":{\"maxSurge\":1,\"maxUnavailable\":0}}",
        "{\"rollingUpdate\":{\"maxSurge\":\"100%\",\"maxUnavailable\":\"50%\"}}",
    };
    AUTO(mem)
    char *workers = mem_printf(
        "{\"strategy\":%s,\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"v%u\"}]}}}",
        strategies[world_roll(w, COUNT_OF(strategies))], (unsigned)world_roll(w, 3));

    world_set_spec(w, "workers", workers);
}

static void users_act(struct world *w)
{
    switch (world_roll(w, 9)) {
    case 7:
        say(w, "another job preempts one");
        if (w->track_count)
            w->tracks[world_roll(w, w->track_count)]->preemptor = "ns/urgent";
        return;
    case 6:
        say(w, "the keys are deleted");
        world_drop_secrets(w);
        return;
    case 4:
        say(w, "the template changes");
        change_template(w);
        return;
    case 0:
        say(w, "the job is suspended or resumed");
        world_set_spec(w, "suspend", json_bool(w->spec, "suspend", false) ? "false" : "true");
        return;
    case 1:
        say(w, "the job is scaled");
        world_set_spec(w, "jobInstances", world_roll(w, 2) ? "1" : "2");
        return;
    case 2:
        say(w, "the API server takes no pods, or does again");
        w->rejection = w->rejection ? NULL : "exceeded quota";
        return;
    case 5:
        say(w, "another job waits for the IPUs, or none does");
        w->others_wait = !w->others_wait;
        return;
    case 3:
        say(w, "templates are forbidden, or are not");
        w->dry_run_answer = w->dry_run_answer == DRY_RUN_NEEDED ? DRY_RUN_REJECTED : DRY_RUN_NEEDED;
        return;
    default:
        if (world_roll(w, 10) == 0) {
            say(w, "the job is deleted");
            world_delete_job(w);
        }
        return;
    }
}

static void strays_arrive(struct world *w)
{
    for (size_t i = 0; i < w->stray_count; i++) {
        struct wstray stray = w->strays[i];

        if (w->now_ms < stray.at_ms)
            continue;
        w->strays[i--] = w->strays[--w->stray_count];
        if (stray.call == CALL_CREATE && !world_partition(w, stray.id) &&
            world_ipus_used(w) + stray.size <= WORLD_CAPACITY)
            world_partition_add(w, stray.id, stray.size, stray.gcds, false);
        else if (stray.call == CALL_REMOVE)
            world_partition_drop(w, stray.id);
        mem_free(stray.id);
    }
}

static void time_passes(struct world *w, int64_t most)
{
    w->now_ms += 1 + (int64_t)world_roll(w, (uint64_t)most);
    strays_arrive(w);
}

/* ---- the operator ---- */

static void dies_in_the_middle(struct world *w)
{
    struct snapshot *snapshot = world_observe(w);
    AUTO(plan) struct plan plan = {0};

    say(w, "the operator dies in the middle of a plan");
    job_decide(snapshot_view(snapshot), &plan);
    world_apply(w, snapshot_view(snapshot), &plan, true);
    snapshot_free(snapshot);
    world_crash(w);
}

/* Without anything else event_occurrence, plans come to an end. */
static void comes_to_rest(struct world *w)
{
    for (int i = 0; i < SETTLE_ROUNDS; i++) {
        if (!world_reconcile(w))
            return;
    }
    world_fail(w, "plans do not come to an end: %s", world_said(w, "lastMessage"));
}

static void step(struct world *w)
{
    switch (world_roll(w, 16)) {
    case 0:
    case 1:
    case 2:
    case 3:
        pods_move(w);
        break;
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
        calls_move(w, true);
        break;
    case 9:
        pods_suffer(w);
        break;
    case 10:
        if (world_roll(w, 2))
            parts_suffer(w);
        break;
    case 11:
        if (world_roll(w, 3) == 0)
            users_act(w);
        break;
    case 12:
        if (world_roll(w, 3) == 0)
            dies_in_the_middle(w);
        else
            time_passes(w, 400000);
        break;
    default:
        time_passes(w, 5000);
        break;
    }
    if (world_roll(w, 3) > 0)
        comes_to_rest(w);
}

/* ---- the calm ---- */

static void calm_down(struct world *w)
{
    say(w, "all is calm");
    w->no_grants = w->controller_down = w->others_wait = false;
    w->partition_rejection = PARTITION_NOT_REJECTED;
    w->rejection = NULL;
    w->dry_run_answer = DRY_RUN_NEEDED;
    json_drop(w->spec, "suspend");
    w->generation++;
    for (size_t i = 0; i < w->pod_count; i++) {
        struct wpod *pod = w->pods[i];

        pod->node_silent = false;
        pod->process = pod->process && pod->exists;
        if (pod->exists && pod->collected)
            world_pod_vanish(w, pod, false);
    }
}

/* A launcher's workers wait for it. */
static bool ends_by_itself(const struct world *w, const struct wpod *pod)
{
    return pod->is_launcher || !json_at(w->spec, "launcher");
}

static void calm_round(struct world *w)
{
    comes_to_rest(w);
    for (int i = 0; i < 4; i++)
        calls_move(w, false);
    for (size_t i = 0; i < w->pod_count; i++) {
        struct wpod *pod = w->pods[i];

        if (!pod->exists)
            continue;
        if (world_pod_must_obey(pod))
            world_pod_obey(w, pod, 143);
        else if (!pod->node)
            world_pod_schedule(w, pod);
        else if (pod->node_fenced && pod->report != REPORT_ENDED)
            world_pod_end(w, pod, 1);
        else if (pod->report <= REPORT_WAITING)
            world_pod_run(w, pod, true);
        else if (pod->report == REPORT_RUNNING && ends_by_itself(w, pod))
            world_pod_end(w, pod, 0);
    }
    time_passes(w, 20000);
}

static bool is_over(const struct world *w)
{
    return !w->exists ||
           (status_is_finished(w->status) && !w->finalizer && world_held(w) == 0 && w->stray_count == 0);
}

static void check_end(struct world *w)
{
    for (size_t i = 0; i < w->partition_count; i++) {
        if (!w->partitions[i].is_foreign)
            world_fail(w, "partition %s is left behind", w->partitions[i].id);
    }
    if (world_held(w))
        world_fail(w, "a record is left behind");
    if (w->status_writes > STATUS_WRITES_MAX)
        world_fail(w, "%u writes of status", w->status_writes);
    if (!w->exists)
        return;
    if (json_i64(w->status, "currentReplicas", -1) != 0)
        world_fail(w, "the job has ended, but CURRENT is not 0");
    if (str_eq(world_said(w, "launcherStatus"), "Completed") &&
        !str_eq(world_said(w, "lastMessage"), "All instances done"))
        world_fail(w, "completed with: %s", world_said(w, "lastMessage"));
}

static void live(uint64_t seed)
{
    static const char *const policies[] = {
        "{\"type\":\"Never\"}", "{\"type\":\"OnFailure\",\"backOffLimit\":2}",
        "{\"type\":\"Always\",\"backOffLimit\":1}", "{\"type\":\"ExitCode\",\"exitCodes\":\"40-50\"}"};
    AUTO(world)
    struct world *w =
        world_new("{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\","
                  "\"workers\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}}}");

    w->seed = seed;
    w->random = seed * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < 8; i++)
        world_roll(w, 2);
    world_set_spec(w, "restartPolicy", policies[world_roll(w, COUNT_OF(policies))]);
    world_set_spec(w, "jobInstances", world_roll(w, 3) ? "1" : "2");
    world_set_spec(w, "workersPerJobInstance", world_roll(w, 2) ? "1" : "2");
    if (world_roll(w, 2))
        world_set_spec(w, "launcher", "{\"command\":[\"mpirun\"]}");
    w->gives_vipu_access = world_roll(w, 2);
    for (int i = 0; i < STEPS && w->exists; i++)
        step(w);
    calm_down(w);
    for (int i = 0; i < CALM_ROUNDS && !is_over(w); i++)
        calm_round(w);
    for (int i = 0; i < SETTLE_ROUNDS; i++)
        comes_to_rest(w);
    if (!is_over(w))
        world_fail(w, "it does not end: %s: %s", world_said(w, "launcherStatus"),
                   world_said(w, "lastMessage"));
    check_end(w);
}

TEST(every_history_keeps_the_invariants_and_ends)
{
    const char *one = getenv("CHAOS_SEED"), *many = getenv("CHAOS_SEEDS");
    uint64_t seeds = many ? strtoull(many, NULL, 10) : SEEDS;

    if (one) {
        live(strtoull(one, NULL, 10));
        return;
    }
    for (uint64_t seed = 1; seed <= seeds; seed++)
        live(seed);
}
