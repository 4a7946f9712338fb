/* Performs plans in a world, and knows what must never happen. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "lib/ops.h"
#include "operator/api/job/indexset.h"
#include "operator/api/names.h"
#include "operator/api/reasons.h"
#include "state_diagram.h"
#include "world.h"

#define REJECTED_AGAIN_MS 10000
#define ROUNDS_MAX 60
#define DAY_S 86400

/* WORLD_TRACE=1 in the environment prints every plan. */
static void trace(const struct world *w, const struct plan *plan)
{
    AUTO(str) struct str text = {0};

    plan_print(plan, &text);
    if (w->plans)
        str_addf(w->plans, "-- after %" PRId64 " s\n%s", (w->now_ms - WORLD_START_MS) / 1000,
                 str_text(&text));
    if (getenv("WORLD_TRACE"))
        (void)fprintf(stderr, "-- at %" PRId64 " ms\n%s", w->now_ms, str_text(&text));
}

/* ---- what must never happen ---- */

static bool may_use_ipus(const struct wpod *pod, const char *id)
{
    return pod->process && str_eq(pod->partition, id);
}

/* Nothing of an earlier start may meet what is started, or lose its IPUs to a reset. */
static void check_nobody_runs_on(const struct world *w, const char *id, const char *what)
{
    for (size_t i = 0; i < w->pod_count; i++) {
        if (may_use_ipus(w->pods[i], id))
            world_fail(w, "%s %s while %s (%s, run %u) still runs on it", what, id, w->pods[i]->name,
                       w->pods[i]->uid, w->pods[i]->run);
    }
}

/* A partition may be taken from under a process only when the hold has passed since that pod was asked to go
 * or went, or when its pods were never known to have been started: then the removal is the fence. */
static void check_removal(struct world *w, const char *id)
{
    AUTO(record) struct record *record = record_parse(world_record(w, id));

    if (!record)
        world_fail(w, "partition %s is removed without a record", id);
    for (size_t i = 0; i < w->pod_count; i++) {
        const struct wpod *pod = w->pods[i];
        int64_t asked = pod->stopped_ms ? pod->stopped_ms : pod->asked_ms;
        int64_t since = asked ? asked : pod->vanished_ms;

        if (!may_use_ipus(pod, id))
            continue;
        if (!pod->exists && !record->started)
            continue;
        if ((pod->exists && !pod->deleting) || w->now_ms < since + WORLD_HOLD_MS)
            world_fail(w, "partition %s is removed while %s (%s) may still run on it", id, pod->name,
                       pod->uid);
    }
}

static bool has_ended(const struct world *w, uint32_t instance)
{
    struct indexset ended = {0};
    bool hit;

    indexset_parse(&ended, world_said(w, "completedIndexes"));
    indexset_parse(&ended, world_said(w, "failedIndexes"));
    hit = indexset_has(&ended, instance);
    indexset_release(&ended);
    return hit;
}

static void check_pod_creation(struct world *w, const struct op *op, bool is_launcher)
{
    const struct world_partition *partition = world_partition(w, op->name);
    const struct wtrack *track = world_track(w, op->name);
    AUTO(record) struct record *record = record_parse(world_record(w, op->name));

    if (!record || record->releasing || record->instance != op->instance)
        world_fail(w, "pod of instance %u on partition %s, which is not its own", op->instance, op->name);
    /* Between the last list and now somebody else may have done anything. */
    if (!strv_has(&w->disturbed, op->name) &&
        (!partition || partition->state != PARTITION_ACTIVE || partition->is_foreign))
        world_fail(w, "pod on partition %s, which is not active", op->name);
    if (partition && (partition->size != record->size || partition->gcds != record->gcds))
        world_fail(w, "pod on partition %s of another shape", op->name);
    if ((!is_launcher && !track->view.fresh) ||
        (partition && partition->used_by_run && partition->used_by_run != record->run + 1))
        world_fail(w, "pod on partition %s, which was not reset", op->name);
    if (has_ended(w, op->instance))
        world_fail(w, "instance %u has ended and is started again", op->instance);
    for (size_t i = 0; i < w->pod_count; i++) {
        const struct wpod *pod = w->pods[i];

        if (may_use_ipus(pod, op->name) && (pod->run != record->run || !pod->exists))
            world_fail(w, "pod on partition %s while %s (%s) of run %u still runs on it", op->name, pod->name,
                       pod->uid, pod->run);
    }
}

static void check_record_deletion(struct world *w, const char *name)
{
    const struct world_partition *partition = world_partition(w, name);
    AUTO(record) struct record *record = record_parse(world_record(w, name));
    bool is_of_its_job_alone = record && strstr(name, "-0a1b2c3d4e-");
    bool has_waited = record && record->spent_s && world_unix_s(w) >= record->spent_s + DAY_S;

    if (partition && !partition->is_foreign)
        world_fail(w, "record %s is deleted before its partition", name);
    if (!partition && !is_of_its_job_alone && !has_waited)
        check_nobody_runs_on(w, name, "id is free again:");
}

/* A word that no page explains. */
static void check_reason(const struct world *w, const char *reason)
{
    if (!reason_find(reason))
        world_fail(w, "%s is not in the table of reasons", reason);
}

/* ---- ops ---- */

static void create_record(struct world *w, const struct op *op)
{
    AUTO(mem) char *uid = mem_printf("record-%u", w->uids++);
    struct wtrack *track;

    if (has_ended(w, op->record->instance))
        world_fail(w, "instance %u has ended and asks for IPUs again", op->record->instance);
    if (world_record(w, op->record->name)) {
        strv_push(&w->taken, op->record->name);
        return;
    }
    for (size_t i = 0; i < w->record_count; i++) {
        AUTO(record) struct record *other = record_parse(w->records[i]);

        if (other->instance == op->record->instance && !other->releasing)
            world_fail(w, "instance %u has record %s and gets %s as well", other->instance, other->name,
                       op->record->name);
    }
    w->records = mem_grow(w->records, w->record_count + 1, sizeof(cJSON *));
    w->records[w->record_count] = record_build(op->record, "operator");
    json_put_str(json_at_mut(w->records[w->record_count], "metadata"), "uid", uid);
    w->record_count++;
    world_follow(w, op->record);
    track = world_track(w, op->record->name);
    track->is_ours_fresh = true;
    track->view = (struct partition_view){.quiet = true};
}

static void merge(cJSON *into, const cJSON *patch)
{
    JSON_EACH (member, patch) {
        const char *key = json_key(member);
        cJSON *child = cJSON_GetObjectItemCaseSensitive(into, key);

        if (cJSON_IsNull(member))
            json_drop(into, key);
        else if (cJSON_IsObject(member) && cJSON_IsObject(child))
            merge(child, member);
        else
            json_put_take(into, key, json_dup(member));
    }
}

static void write_status(struct world *w, const cJSON *status)
{
    AUTO(mem) char *was = mem_strdup(world_said(w, "launcherStatus"));

    merge(w->status, status);
    check_reason(w, world_said(w, "reason"));
    if (!state_diagram_allows(was, world_said(w, "launcherStatus")))
        world_fail(w, "after %s comes %s, which the picture in docs/jobs.md does not show", was,
                   world_said(w, "launcherStatus"));
    w->status_writes++;
}

static void patch_record(struct world *w, const struct op *op)
{
    cJSON *object = world_record(w, op->record->name);
    AUTO(json) cJSON *patch = record_patch(op->record);

    if (!object)
        return;
    CHECK_STR_EQ(json_str(patch, "metadata/uid", ""), json_str(object, "metadata/uid", ""));
    merge(object, patch);
    AUTO(record) struct record *record = record_parse(object);
    struct wtrack *track = world_track(w, record->name);
    bool begins = record->run != track->run;

    world_follow(w, record);
    if (record->launched && !track->launch_noted_by_us) {
        track->launch_noted_by_us = true;
        track->is_rejected = false;
        track->keys = KEYS_UNKNOWN;
    }
    if (begins) {
        track->created_in_run = false;
        track->view.quiet = true;
        track->view.fresh = false;
        track->view.resets_failing_since_ms = 0;
    }
}

static void delete_record(struct world *w, const struct op *op)
{
    check_record_deletion(w, op->name);
    for (size_t i = 0; i < w->record_count; i++) {
        if (!str_eq(json_str(w->records[i], "metadata/name", ""), op->name))
            continue;
        CHECK_STR_EQ(json_str(w->records[i], "metadata/uid", ""), op->uid);
        cJSON_Delete(w->records[i]);
        w->records[i] = w->records[--w->record_count];
    }
    if (op->ready)
        strv_push(&w->taken, op->name);
    world_untrack(w, op->name);
}

static void check_launch(struct world *w, const struct record *record)
{
    uint32_t workers = 0;

    if (!record->launched)
        world_fail(w, "a launcher is made and its record does not say so");
    for (size_t i = 0; i < w->pod_count; i++) {
        const struct wpod *pod = w->pods[i];

        workers += pod->exists && pod->instance == record->instance && pod->run == record->run &&
                   str_eq(pod->partition, record->name) && pod->report == REPORT_RUNNING && !pod->is_unready;
    }
    if (workers < record->workers)
        world_fail(w, "a launcher is made and %u of %u workers are ready", workers, record->workers);
}

static char *keys_of(const struct record *record)
{
    return name_keys_secret(record->job_name, record->job_uid, record->has_launcher, record->instance,
                            record->start);
}

static void check_vipu_access(struct world *w, const struct record *record)
{
    AUTO(mem) char *name = keys_of(record);

    if (!strv_has(&w->secrets, name))
        world_fail(w, "a pod is created and its Secret %s is not there", name);
}

/* Who looks for a worker must not find one of an earlier run. */
static void check_names_are_free(struct world *w, uint32_t instance)
{
    AUTO(mem) char *label = mem_printf("%u", instance);

    for (size_t i = 0; i < w->slice_count; i++) {
        if (json_at(w->slices[i], "endpoints")->child &&
            str_eq(json_str(w->slices[i], "metadata/labels/graphcore.ai~1instance", ""), label))
            world_fail(w, "a pod is created and %s has workers of an earlier run",
                       json_str(w->slices[i], "metadata/name", ""));
    }
}

static uint32_t count_alive(const struct world *w)
{
    uint32_t alive = 0;

    for (size_t i = 0; i < w->pod_count; i++)
        alive += w->pods[i]->exists && w->pods[i]->report != REPORT_ENDED;
    return alive;
}

static void reject(struct world *w)
{
    w->create_rejected = true;
    w->create_rejected_ms = w->now_ms;
    w->create_retry_at_ms = w->now_ms + REJECTED_AGAIN_MS;
    w->dry_run_generation = 0;
    for (size_t i = 0; i < w->track_count; i++)
        w->tracks[i]->is_rejected = true;
}

/* The rules of offers.c. */
static void offer(struct world *w, const struct op *op)
{
    struct wtrack *track = world_track(w, op->name);

    if (!track->offered_since_ms)
        track->offered_since_ms = w->now_ms;
    if (!op->now)
        return;
    for (size_t i = 0; i < w->pod_count; i++) {
        if (w->pods[i]->exists && str_eq(w->pods[i]->partition, op->name) &&
            w->pods[i]->report >= REPORT_RUNNING)
            world_fail(w, "partition %s is given up, and pod %s has begun", op->name, w->pods[i]->name);
    }
    track->is_given_up = true;
    w->requeues++;
    mem_set_str(&w->requeue_reason, op->reason);
    mem_set_str(&w->requeue_text, op->text);
    w->create_rejected = true;
    w->create_rejected_ms = w->now_ms;
    w->create_retry_at_ms = w->now_ms + REJECTED_AGAIN_MS;
}

static void create_pod(struct world *w, const struct op *op, const struct job *job)
{
    bool is_launcher = op->worker == job->spec.workers_per_instance;
    AUTO(mem) char *name = job_pod_name(job, op->instance, op->worker);
    AUTO(record) struct record *record = record_parse(world_record(w, op->name));
    struct wpod *pod;

    check_pod_creation(w, op, is_launcher);
    if (!w->service_has_selector)
        check_names_are_free(w, op->instance);
    if (w->gives_vipu_access && !w->secrets_were_dropped)
        check_vipu_access(w, record);
    if (is_launcher)
        check_launch(w, record);
    if (world_pod(w, name))
        world_fail(w, "pod %s is created and is there", name);
    if (w->rejection && count_alive(w) >= w->quota) {
        reject(w);
        return;
    }
    w->create_rejected = w->create_rejected && (w->requeues || w->now_ms < w->create_retry_at_ms);
    if (world_partition(w, op->name))
        world_partition(w, op->name)->used_by_run = record->run + 1;
    pod = NEW(struct wpod);
    *pod = (struct wpod){.name = mem_strdup(name),
                         .uid = mem_printf("pod-%u", w->uids++),
                         .partition = mem_strdup(op->name),
                         .keys = record->has_launcher || w->gives_vipu_access ? keys_of(record) : NULL,
                         .instance = op->instance,
                         .worker = op->worker,
                         .is_launcher = is_launcher,
                         .launcher_image = w->launcher_image,
                         .is_unready = w->unready && str_eq(w->unready, name),
                         .run = record->run,
                         .revision = job->revision,
                         .created_ms = w->now_ms,
                         .exists = true};
    w->pods = mem_grow(w->pods, w->pod_count + 1, sizeof(struct wpod *));
    w->pods[w->pod_count++] = pod;
    world_saw_pod(w, pod);
}

static void create_keys(struct world *w, const struct op *op)
{
    AUTO(record) struct record *record = record_parse(world_record(w, op->name));
    AUTO(mem) char *name = keys_of(record);
    struct wtrack *track = world_track(w, op->name);

    track->keys = op->ready && !strv_has(&w->secrets, name) ? KEYS_LOST : KEYS_THERE;
    track->keys_at_ms = w->now_ms;
    if (!strv_has(&w->secrets, name))
        strv_push(&w->secrets, name);
}

static cJSON **find_slice(struct world *w, const char *name)
{
    for (size_t i = 0; i < w->slice_count; i++) {
        if (str_eq(json_str(w->slices[i], "metadata/name", ""), name))
            return &w->slices[i];
    }
    return NULL;
}

static void write_names(struct world *w, const struct op *op)
{
    cJSON **there = find_slice(w, op->name);

    w->endpoints_rejected = w->names_rejection != NULL;
    w->create_retry_at_ms = w->now_ms + REJECTED_AGAIN_MS;
    if (w->names_rejection)
        return;
    if (!there != !op->uid)
        world_fail(w, "EndpointSlice %s is %s", op->name, there ? "there already" : "not there");
    if (!there) {
        w->slices = mem_grow(w->slices, w->slice_count + 1, sizeof(*w->slices));
        there = &w->slices[w->slice_count++];
        *there = NULL;
    }
    cJSON_Delete(*there);
    *there = json_dup(op->body);
    json_put_str(json_at_mut(*there, "metadata"), "uid", "slice");
    json_put_i64(*there, "writtenMs", w->now_ms);
    w->name_writes++;
}

/* Nobody may be left who waits for them, or could use them. */
static void check_keys_deletion(struct world *w, const char *name)
{
    for (size_t i = 0; i < w->record_count; i++) {
        AUTO(record) struct record *record = record_parse(w->records[i]);
        AUTO(mem) char *used = keys_of(record);

        for (size_t p = 0; p < w->pod_count && str_eq(used, name); p++) {
            const struct wpod *pod = w->pods[p];

            if (pod->exists && !pod->deleting && pod->report < REPORT_ENDED && pod->run == record->run &&
                str_eq(pod->partition, record->name))
                world_fail(w, "keys %s are deleted and %s uses them", name, pod->name);
        }
    }
}

static void delete_keys(struct world *w, const struct op *op)
{
    struct strv left = {0};

    check_keys_deletion(w, op->name);
    for (size_t i = 0; i < w->secrets.count; i++) {
        if (!str_eq(w->secrets.items[i], op->name))
            strv_push(&left, w->secrets.items[i]);
    }
    strv_release(&w->secrets);
    w->secrets = left;
}

static void delete_pod(struct world *w, const struct op *op)
{
    struct wpod *pod = world_pod(w, op->name);

    if (!pod || !str_eq(pod->uid, op->uid))
        return;
    if (op->now)
        world_pod_vanish(w, pod, false);
    else
        world_pod_delete(w, pod);
}

/* A pod that has ended is of another version than the one that was seen. */
static void stop_pod(struct world *w, const struct op *op)
{
    struct wpod *pod = world_pod(w, op->name);

    if (!pod || !str_eq(pod->uid, op->uid) || pod->report == REPORT_ENDED)
        return;
    if (pod->report != REPORT_RUNNING && !pod->has_running_sidecar)
        world_fail(w, "pod %s is stopped and kept, and has no log", pod->name);
    pod->stopped_ms = w->now_ms;
    world_saw_pod(w, pod);
}

static void dry_run(struct world *w)
{
    w->dry_run = w->dry_run_answer == DRY_RUN_NEEDED ? DRY_RUN_PASSED : w->dry_run_answer;
    w->dry_run_generation = w->generation;
    w->dry_run_retry_at_ms = w->now_ms + REJECTED_AGAIN_MS;
}

static void call(struct world *w, const struct op *op, enum wcall what)
{
    struct wtrack *track = world_track(w, op->name);

    if (!track)
        world_fail(w, "a call about partition %s, which is not followed", op->name);
    if (what == CALL_RESET)
        check_nobody_runs_on(w, op->name, "reset of partition");
    if (what == CALL_REMOVE)
        check_removal(w, op->name);
    if (track->call != CALL_NONE)
        return;
    track->call = what;
    track->sends += what == CALL_CREATE;
    track->created_in_run = track->created_in_run || what == CALL_CREATE;
    if (what == CALL_CREATE)
        track->view.rejection = PARTITION_NOT_REJECTED;
    track->view.busy = true;
}

static void remove_finalizer(struct world *w)
{
    if (world_held(w))
        world_fail(w, "the finalizer goes and %zu records are left", world_held(w));
    w->finalizer = false;
    w->operator_ns = NULL;
    if (w->deleting)
        w->exists = w->other_finalizer;
}

/* What the operator makes of it: the rules of responses.c. */
static bool is_rejected(struct world *w, const struct op *op)
{
    if (!w->rejects[op->kind]) {
        w->write_rejected = w->write_rejected && w->write_rejected_op != op->kind;
        return false;
    }
    if (op->kind == OP_KEYS_CREATE && op->ready) {
        world_track(w, op->name)->keys = KEYS_THERE;
        world_track(w, op->name)->keys_at_ms = w->now_ms;
    } else if (op->kind == OP_SERVICE_CREATE || op->kind == OP_POLICY_CREATE || op->kind == OP_KEYS_CREATE ||
               op->kind == OP_POD_CREATE) {
        reject(w);
    } else {
        w->write_rejected = true;
        w->write_rejected_op = op->kind;
    }
    return true;
}

static void perform(struct world *w, const struct job_view *view, const struct op *op)
{
    if (is_rejected(w, op))
        return;
    switch (op->kind) {
    case OP_CLAIM:
        return;
    case OP_OFFER:
        offer(w, op);
        return;
    case OP_FINALIZER_ADD:
        w->finalizer = true;
        w->operator_ns = WORLD_OPERATOR_NS;
        return;
    case OP_FINALIZER_REMOVE:
        remove_finalizer(w);
        return;
    case OP_JOB_DELETE:
        world_delete_job(w);
        return;
    case OP_DRY_RUN:
        dry_run(w);
        return;
    case OP_SERVICE_CREATE:
        w->has_service = !w->service_taken;
        if (w->service_taken)
            reject(w);
        return;
    case OP_ENDPOINTS_WRITE:
        write_names(w, op);
        return;
    case OP_POLICY_CREATE:
        w->has_policy = true;
        return;
    case OP_KEYS_CREATE:
        create_keys(w, op);
        return;
    case OP_KEYS_DELETE:
        delete_keys(w, op);
        return;
    case OP_RECORD_CREATE:
        create_record(w, op);
        return;
    case OP_RECORD_PATCH:
        patch_record(w, op);
        return;
    case OP_RECORD_DELETE:
        delete_record(w, op);
        return;
    case OP_PARTITION_CREATE:
        call(w, op, CALL_CREATE);
        return;
    case OP_PARTITION_RESET:
        call(w, op, CALL_RESET);
        return;
    case OP_PARTITION_REMOVE:
        call(w, op, CALL_REMOVE);
        return;
    case OP_POD_CREATE:
        create_pod(w, op, view->job);
        return;
    case OP_POD_STOP:
        stop_pod(w, op);
        return;
    case OP_POD_DELETE:
        delete_pod(w, op);
        return;
    case OP_STATUS:
        write_status(w, op->body);
        return;
    case OP_EVENT:
        check_reason(w, op->reason);
        w->events++;
        strv_push(&w->event_reasons, op->reason);
        strv_push(&w->event_notes, op->text);
        return;
    }
}

/* Or a step that the next one follows. */
static bool is_write(const struct op *op)
{
    return op->kind == OP_OFFER ? op->now : op->kind != OP_CLAIM;
}

/* A partition that is offered no longer: its pods have started, or go. */
static void withdraw_offers(struct world *w, const struct plan *plan)
{
    for (size_t t = 0; t < w->track_count; t++) {
        bool is_offered = false;

        for (size_t i = 0; i < plan->count; i++)
            is_offered =
                is_offered || (plan->ops[i].kind == OP_OFFER && str_eq(plan->ops[i].name, w->tracks[t]->id));
        if (!is_offered)
            w->tracks[t]->offered_since_ms = 0;
    }
}

void world_apply(struct world *w, const struct job_view *view, const struct plan *plan, bool some_only)
{
    for (size_t i = 0; i < plan->count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (plan->ops[i].kind == OP_RECORD_PATCH && plan->ops[j].kind == OP_RECORD_PATCH &&
                str_eq(plan->ops[i].record->name, plan->ops[j].record->name))
                world_fail(w, "two patches of record %s in one plan", plan->ops[i].record->name);
        }
        if (some_only && world_roll(w, 2))
            continue;
        w->writes += is_write(&plan->ops[i]);
        perform(w, view, &plan->ops[i]);
    }
    withdraw_offers(w, plan);
    w->again_at_ms = plan->again_at_ms;
}

bool plan_writes(const struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (is_write(&plan->ops[i]))
            return true;
    }
    return false;
}

/* Nothing has happened since but the plan itself: what comes next may go on from there, and does nothing of
 * it once more. */
static void check_nothing_again(struct world *w, const struct plan *done)
{
    struct snapshot *snapshot = world_observe(w);
    AUTO(plan) struct plan next = {0};
    AUTO(strv) struct strv before = {0};
    AUTO(strv) struct strv after = {0};

    job_decide(snapshot_view(snapshot), &next);
    snapshot_free(snapshot);
    plan_describe(done, &before);
    plan_describe(&next, &after);
    for (size_t i = 0; i < after.count; i++) {
        if (w->write_rejected) /* the queue lets the job wait, longer each time */
            break;
        if (strv_has(&before, after.items[i]))
            world_fail(w, "what was done is planned again: %s", after.items[i]);
    }
}

static char *describe_whole(const struct plan *plan)
{
    AUTO(strv) struct strv ops = {0};
    struct str out = {0};

    plan_print(plan, &out);
    plan_describe(plan, &ops);
    for (size_t i = 0; i < ops.count; i++)
        str_adds(&out, ops.items[i]);
    return str_take(&out);
}

/* The idle instances of a job are decided about as one; it must make no difference. */
static void check_listed(struct world *w, const struct snapshot *snapshot, const struct plan *plan)
{
    const struct job_view view = snapshot_listed_view(snapshot);
    AUTO(plan) struct plan listed = {0};
    AUTO(mem) char *as_one = NULL;
    AUTO(mem) char *one_by_one = NULL;

    if (view.live_count == snapshot_view(snapshot)->live_count)
        return;
    job_decide(&view, &listed);
    as_one = describe_whole(plan);
    one_by_one = describe_whole(&listed);
    if (!str_eq(as_one, one_by_one) || plan->again_at_ms != listed.again_at_ms)
        world_fail(w, "idle instances as one:\n%s\none by one:\n%s", as_one, one_by_one);
}

bool world_reconcile(struct world *w)
{
    struct snapshot *snapshot = world_observe(w);
    AUTO(plan) struct plan plan = {0};
    bool writes;

    job_decide(snapshot_view(snapshot), &plan);
    check_listed(w, snapshot, &plan);
    w->details_since_ms = plan_details_since(&plan, w->details_since_ms, w->now_ms);
    writes = plan_writes(&plan);
    if (writes && (w->plans || getenv("WORLD_TRACE")))
        trace(w, &plan);
    world_apply(w, snapshot_view(snapshot), &plan, false);
    snapshot_free(snapshot);
    if (writes)
        check_nothing_again(w, &plan);
    return writes;
}

/* ---- scripts ---- */

static bool advance_vipu(struct world *w)
{
    bool changed = false;

    for (size_t i = 0; i < w->track_count; i++) {
        struct wtrack *track = w->tracks[i];
        struct partition_view before = track->view;

        if (w->controller_down)
            continue;
        if (track->call != CALL_NONE)
            world_call_end(w, track, FATE_DONE);
        world_list(w, track);
        changed = changed || before.state != track->view.state || before.busy != track->view.busy ||
                  before.fresh != track->view.fresh || before.outcome_unknown != track->view.outcome_unknown;
    }
    for (size_t i = 0; i < w->partition_count; i++) {
        changed = changed || w->partitions[i].state == PARTITION_PENDING;
        world_partition_settle(w, &w->partitions[i]);
    }
    return changed;
}

static bool can_start(const struct world *w, const struct wpod *pod)
{
    return !pod->is_slow && (!pod->keys || strv_has(&w->secrets, pod->keys));
}

static bool advance_pods(struct world *w)
{
    bool changed = false;

    for (size_t i = 0; i < w->pod_count; i++) {
        struct wpod *pod = w->pods[i];

        if (!pod->exists || pod->node_silent)
            continue;
        if (world_pod_must_obey(pod)) {
            world_pod_obey(w, pod, 143);
            changed = true;
        } else if (!pod->node) {
            world_pod_schedule(w, pod);
            changed = true;
        } else if (pod->report == REPORT_WAITING && !pod->collected && can_start(w, pod)) {
            world_pod_run(w, pod, true);
            changed = true;
        }
    }
    return changed;
}

bool world_advance(struct world *w)
{
    bool busy = world_reconcile(w);

    busy = advance_vipu(w) || busy;
    return advance_pods(w) || busy;
}

void world_settle(struct world *w)
{
    for (int round = 0; round < ROUNDS_MAX; round++) {
        if (!world_advance(w))
            return;
    }
    world_fail(w, "it does not settle in %d rounds: %s", ROUNDS_MAX, world_said(w, "lastMessage"));
}

void world_pass(struct world *w, int64_t ms)
{
    w->now_ms += ms;
    world_settle(w);
}
