/* What the operator's process of a world remembers, and how it sees the job: the rules of job_cache.c,
 * reconciler.c and observe.c. */
#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/api/pod/endpoints.h"
#include "operator/api/names.h"
#include "operator/api/reasons.h"
#include "operator/reconcile/decide/run/partition_release.h"
#include "world.h"

struct wtrack *world_track(struct world *w, const char *id)
{
    for (size_t i = 0; i < w->track_count; i++) {
        if (str_eq(w->tracks[i]->id, id))
            return w->tracks[i];
    }
    return NULL;
}

static struct wtrack *need_track(struct world *w, const char *id)
{
    struct wtrack *track = world_track(w, id);

    if (track)
        return track;
    track = NEW(struct wtrack);
    track->id = mem_strdup(id);
    track->since_ms = track->run_since_ms = w->now_ms;
    w->tracks = mem_grow(w->tracks, w->track_count + 1, sizeof(*w->tracks));
    return w->tracks[w->track_count++] = track;
}

struct wworker *world_worker(struct wtrack *track, uint32_t worker)
{
    if (worker >= track->worker_count) {
        track->workers = mem_grow(track->workers, worker + 1, sizeof(*track->workers));
        memset(track->workers + track->worker_count, 0,
               (worker + 1 - track->worker_count) * sizeof(*track->workers));
        track->worker_count = worker + 1;
    }
    return &track->workers[worker];
}

static void forget_workers(struct wtrack *track)
{
    for (uint32_t i = 0; i < track->worker_count; i++) {
        mem_free(track->workers[i].pod);
        mem_free(track->workers[i].node);
    }
    mem_free(track->workers);
    track->workers = NULL;
    track->worker_count = 0;
}

static void forget_track(struct world *w, struct wtrack *track)
{
    for (size_t i = 0; i < w->track_count; i++) {
        if (w->tracks[i] == track)
            w->tracks[i] = w->tracks[--w->track_count];
    }
    forget_workers(track);
    mem_free(track->id);
    mem_free(track);
}

static void begin_memory_of_run(const struct world *w, struct wtrack *track, uint32_t run)
{
    forget_workers(track);
    track->run = run;
    track->run_since_ms = w->now_ms;
    track->keys = KEYS_UNKNOWN;
    track->launch_noted_by_us = track->is_rejected = track->is_given_up = false;
    track->offered_since_ms = 0;
}

void world_follow(struct world *w, const struct record *record)
{
    struct wtrack *track = need_track(w, record->name);

    if (track->run != record->run)
        begin_memory_of_run(w, track, record->run);
    if (track->size == 0) {
        track->view.quiet = track->is_ours_fresh;
        track->view.removal_until_ms = track->is_ours_fresh ? 0 : w->now_ms + WORLD_STRAY_MS;
        if (!track->is_ours_fresh && (record->outcome_unknown || !record->started)) {
            track->view.outcome_unknown = true;
            track->view.settle_at_ms = w->now_ms + WORLD_STRAY_MS;
        }
    }
    track->size = record->size;
    track->gcds = record->gcds;
    track->started = record->started;
}

/* ---- pods come and go ---- */

static struct wtrack *track_of(struct world *w, const struct wpod *pod)
{
    struct wtrack *track = need_track(w, pod->partition);

    if (pod->run > track->run)
        begin_memory_of_run(w, track, pod->run);
    return pod->run == track->run ? track : NULL;
}

static void remember_disruption(struct wworker *worker, const struct wpod *pod)
{
    AUTO(json) cJSON *object = world_pod_object(pod);
    AUTO(pod) struct pod *seen = pod_parse(object);

    worker->disruption = seen->disruption;
    worker->disrupted_s = seen->disrupted_s;
}

void world_saw_pod(struct world *w, struct wpod *pod)
{
    struct wtrack *track = track_of(w, pod);
    struct wworker *worker = track ? world_worker(track, pod->worker) : NULL;

    if (!worker)
        return;
    worker->state = WORKER_PRESENT;
    worker->what = pod;
    if (pod->report >= REPORT_RUNNING && w->now_ms >= w->create_retry_at_ms && w->requeues) {
        w->requeues = 0;
        w->create_rejected = false;
    }
    mem_set_str(&worker->pod, pod->name);
    mem_set_str(&worker->node, pod->node);
    if ((pod->deleting || pod->stopped_ms) && !worker->is_ending) {
        worker->is_ending = true;
        worker->since_ms = w->now_ms;
    }
    remember_disruption(worker, pod);
}

void world_missed_pod(struct world *w, struct wpod *pod, bool unseen)
{
    struct wtrack *track = track_of(w, pod);
    struct wworker *worker = track ? world_worker(track, pod->worker) : NULL;
    AUTO(json) cJSON *object = world_pod_object(pod);
    AUTO(pod) struct pod *last = pod_parse(object);

    if (!worker)
        return;
    worker->disruption = last->disruption;
    worker->disrupted_s = last->disrupted_s;
    worker->state =
        pod_has_stopped(last, !unseen, pod->node_fenced) ? WORKER_GONE_STOPPED : WORKER_GONE_UNKNOWN;
    worker->what = pod;
    worker->since_ms = w->now_ms;
    mem_set_str(&worker->pod, pod->name);
    mem_set_str(&worker->node, pod->node);
}

void world_untrack(struct world *w, const char *id)
{
    struct wtrack *track = world_track(w, id);

    if (track)
        forget_track(w, track);
}

void world_forget(struct world *w)
{
    while (w->track_count)
        forget_track(w, w->tracks[0]);
    strv_release(&w->taken);
}

void world_crash(struct world *w)
{
    /* What was on the wire may still arrive. */
    for (size_t i = 0; i < w->track_count; i++) {
        if (w->tracks[i]->call != CALL_NONE && w->seed)
            world_call_end(w, w->tracks[i],
                           (enum wfate)(FATE_DONE_UNKNOWN + world_roll(w, FATE_LATE_UNKNOWN)));
    }
    world_forget(w);
    w->dry_run_generation = 0;
    /* What was given up is read from the status. */
    w->create_rejected = json_at(w->status, "startFailure") != NULL;
    w->requeues = w->create_rejected ? (uint32_t)world_number(w, "startFailure/tries") : 0;
    mem_set_str(&w->requeue_reason, json_str(w->status, "startFailure/reason", NULL));
    mem_set_str(&w->requeue_text, json_str(w->status, "startFailure/message", NULL));
    w->endpoints_rejected = w->write_rejected = false;
    w->again_at_ms = 0;
    for (size_t i = 0; i < w->record_count; i++) {
        AUTO(record) struct record *record = record_parse(w->records[i]);

        world_follow(w, record);
    }
    for (size_t i = 0; i < w->pod_count; i++) {
        if (w->pods[i]->exists)
            world_saw_pod(w, w->pods[i]);
    }
}

/* ---- one look ---- */

struct snapshot {
    struct job_view view;
    struct instance_view *instances; /* all of them, with the idle ones */
    size_t instance_count;
    struct job *job;
    struct pod **pods;
    struct wpod **truths; /* of pods, same index */
    size_t pod_count;
    struct record **records;
    size_t record_count;
    char *granted, *text;
    struct owned **slices;
    size_t slice_count;
};

const struct job_view *snapshot_view(const struct snapshot *snapshot)
{
    return &snapshot->view;
}

static void release_instance(struct instance_view *inst)
{
    mem_free(inst->workers);
    mem_free(inst->slices);
    mem_free(inst->stale_pods);
}

void snapshot_free(struct snapshot *s)
{
    for (size_t i = 0; i < s->instance_count; i++)
        release_instance(&s->instances[i]);
    mem_free(s->instances);
    for (size_t i = 0; i < s->pod_count; i++)
        pod_free(s->pods[i]);
    for (size_t i = 0; i < s->record_count; i++)
        record_free(s->records[i]);
    for (size_t i = 0; i < s->slice_count; i++)
        owned_free(s->slices[i]);
    mem_free(s->slices);
    mem_free(s->view.live);
    mem_free(s->view.tombstones);
    mem_free(s->view.extra_pods);
    mem_free(s->pods);
    mem_free(s->truths);
    mem_free(s->records);
    mem_free(s->granted);
    mem_free(s->text);
    job_free(s->job);
    mem_free(s);
}

static void recall(const struct wtrack *track, const struct record *record, uint32_t pod_index,
                   struct worker_view *ret)
{
    const struct wworker *memory =
        track && pod_index < track->worker_count ? &track->workers[pod_index] : NULL;

    *ret = (struct worker_view){.state = WORKER_NEVER_SEEN, .since_ms = track ? track->since_ms : 0};
    if (!memory || memory->state == WORKER_NEVER_SEEN) {
        ret->may_have_started_unseen = record && record_has_started(record, pod_index) &&
                                       !(pod_index == record->workers && track && track->launch_noted_by_us);
        return;
    }
    ret->state = memory->state;
    ret->pod_name = memory->pod;
    ret->node = memory->node;
    ret->revision = memory->what->revision;
    ret->since_ms = memory->since_ms;
    ret->disruption = memory->disruption;
    ret->disrupted_s = memory->disrupted_s;
    if (ret->state == WORKER_PRESENT)
        ret->state = WORKER_GONE_UNKNOWN;
    if (ret->state == WORKER_GONE_UNKNOWN && memory->what->node_fenced)
        ret->state = WORKER_GONE_STOPPED;
}

static void see_pod(const struct wtrack *track, const struct pod *pod, const struct wpod *truth,
                    struct worker_view *ret)
{
    const struct wworker *memory =
        track && pod->worker < track->worker_count ? &track->workers[pod->worker] : NULL;

    *ret = (struct worker_view){
        .state = WORKER_PRESENT,
        .pod = pod,
        .pod_name = pod->name,
        .node = pod->node,
        .revision = pod->revision,
        .since_ms = memory ? memory->since_ms : 0,
        .node_fenced = truth->node_fenced,
    };
}

static bool is_of_run(const struct pod *pod, const struct record *record)
{
    return record && str_eq(pod->partition, record->name) && pod->run == record->run;
}

static void read_objects(struct world *w, struct snapshot *s)
{
    s->pods = mem_alloc((w->pod_count + 1) * sizeof(*s->pods));
    s->truths = mem_alloc((w->pod_count + 1) * sizeof(*s->truths));
    for (size_t i = 0; i < w->pod_count; i++) {
        AUTO(json) cJSON *object = NULL;

        if (!w->pods[i]->exists)
            continue;
        object = world_pod_object(w->pods[i]);
        s->truths[s->pod_count] = w->pods[i];
        s->pods[s->pod_count++] = pod_parse(object);
    }
    s->records = mem_alloc((w->record_count + 1) * sizeof(*s->records));
    for (size_t i = 0; i < w->record_count; i++)
        s->records[s->record_count++] = record_parse(w->records[i]);
    s->slices = mem_alloc((w->slice_count + 1) * sizeof(*s->slices));
    for (size_t i = 0; i < w->slice_count; i++) {
        s->slices[i] = owned_parse(w->slices[i]);
        s->slices[i]->written_ms = json_i64(w->slices[i], "writtenMs", 0);
        s->slice_count++;
    }
}

static void view_slices(const struct snapshot *s, struct instance_view *inst)
{
    uint32_t count = endpoints_slices(s->job->spec.workers_per_instance);

    inst->slices = mem_alloc(count * sizeof(*inst->slices));
    for (uint32_t i = 0; i < count; i++) {
        AUTO(mem) char *name = endpoints_slice_name(s->job, inst->index, i);

        for (size_t k = 0; k < s->slice_count; k++) {
            if (str_eq(s->slices[k]->name, name))
                inst->slices[i] = s->slices[k];
        }
    }
}

static char no_room_text[] = "Waiting for IPUs";
static const struct claim_wait no_room = {.reason = "InsufficientIPUs", .text = no_room_text};

static bool is_hashed_id_taken(struct world *w, const struct job *job, const struct instance_view *inst)
{
    AUTO(mem)
    char *id = name_partition_hashed(w->prefix, job->name, job->uid, inst->index, inst->next_attempt);

    return !inst->record && (strv_has(&w->taken, id) || world_partition(w, id));
}

static void view_instance(struct world *w, struct snapshot *s, uint32_t index)
{
    struct instance_view *inst = &s->view.live[index];
    uint32_t seats = job_pods_per_instance(&s->job->spec);
    AUTO(mem) char *readable = name_partition(w->prefix, s->job->name, s->job->ns, index);
    const struct wtrack *track;

    inst->index = index;
    for (size_t i = 0; i < s->record_count; i++) {
        const struct record *record = s->records[i];

        if (record->instance != index)
            continue;
        if (record->attempt >= inst->next_attempt)
            inst->next_attempt = record->attempt + 1;
        if (!record->releasing && (!inst->record || record->attempt > inst->record->attempt))
            inst->record = record;
    }
    inst->readable_id_taken =
        strv_has(&w->taken, readable) || world_record(w, readable) || world_partition(w, readable);
    while (is_hashed_id_taken(w, s->job, inst))
        inst->next_attempt++;
    track = inst->record ? world_track(w, inst->record->name) : NULL;
    if (track) {
        inst->partition = track->view;
        inst->partition_since_ms = track->since_ms;
        inst->run_since_ms = track->run_since_ms;
        inst->preemptor = inst->record->preemptor ? inst->record->preemptor : track->preemptor;
    }
    track = track && track->run == inst->record->run ? track : NULL;
    inst->keys = track ? track->keys : KEYS_UNKNOWN;
    inst->keys_at_ms = track ? track->keys_at_ms : 0;
    inst->is_rejected = track && track->is_rejected;
    inst->offered_since_ms = track ? track->offered_since_ms : 0;
    inst->is_wanted = track && track->offered_since_ms && w->others_wait;
    inst->is_given_up = track && track->is_given_up;
    inst->needs_vipu_access = inst->record && w->gives_vipu_access;
    view_slices(s, inst);
    inst->workers = mem_alloc((seats + 1) * sizeof(*inst->workers));
    for (uint32_t i = 0; i < seats; i++)
        recall(track, inst->record, i, &inst->workers[i]);
    if (!w->no_grants && world_ipus_used(w) + s->job->spec.ipus_per_instance <= WORLD_CAPACITY) {
        inst->claim = CLAIM_GRANTED;
        inst->granted = "vipu:8090";
        inst->limit_s = w->keeps_limits ? job_limit_s(&s->job->spec) : 0;
    } else {
        inst->claim = CLAIM_WAITING;
        inst->wait = &no_room;
    }
}

static void view_pods(struct world *w, struct snapshot *s)
{
    s->view.extra_pods = mem_alloc((s->pod_count + 1) * sizeof(*s->view.extra_pods));
    for (size_t i = 0; i < s->pod_count; i++) {
        struct pod *pod = s->pods[i];
        struct instance_view *inst;

        if (pod->instance >= view_all(&s->view) || pod->worker >= job_pods_per_instance(&s->job->spec)) {
            s->view.extra_pods[s->view.extra_count++] = pod;
            continue;
        }
        inst = &s->view.live[pod->instance];
        if (is_of_run(pod, inst->record)) {
            see_pod(world_track(w, pod->partition), pod, s->truths[i], &inst->workers[pod->worker]);
        } else {
            inst->stale_pods = mem_grow(inst->stale_pods, inst->stale_count + 1, sizeof(struct pod *));
            inst->stale_pods[inst->stale_count++] = pod;
        }
    }
}

static bool is_idle(const struct job_view *view, const struct instance_view *inst)
{
    bool has_pods = inst->stale_count > 0;

    for (uint32_t i = 0; i < job_pods_per_instance(&view->job->spec); i++)
        has_pods = has_pods || inst->workers[i].pod;
    return !inst->record && !has_pods && inst->claim == CLAIM_WAITING;
}

/* They stay in snapshot.instances. */
static void leave_out_idle(struct snapshot *s)
{
    struct job_view *view = &s->view;
    size_t count = 0;

    s->instances = view->live;
    s->instance_count = view->live_count;
    view->live = mem_alloc((view->live_count + 1) * sizeof(*view->live));
    for (size_t i = 0; i < view->live_count; i++) {
        if (!is_idle(view, &s->instances[i]))
            view->live[count++] = s->instances[i];
    }
    view->live_count = count;
    view->idle = (struct instance_view){.claim = CLAIM_WAITING, .wait = &no_room};
}

struct job_view snapshot_listed_view(const struct snapshot *s)
{
    struct job_view view = s->view;

    view.live = s->instances;
    view.live_count = s->instance_count;
    return view;
}

static void sum_up_tombstone(struct world *w, struct snapshot *s, struct tombstone_view *tomb)
{
    const struct record *record = tomb->record;
    const struct wtrack *track = world_track(w, record->name);
    AUTO(mem) struct worker_view *seats = mem_alloc((record_pod_count(record) + 1) * sizeof(*seats));

    for (uint32_t i = 0; i < record_pod_count(record); i++) {
        recall(track, record, i, &seats[i]);
        for (size_t p = 0; p < s->pod_count; p++) {
            if (is_of_run(s->pods[p], record) && s->pods[p]->worker == i)
                see_pod(track, s->pods[p], s->truths[p], &seats[i]);
        }
    }
    tombstone_sum_up(seats, tomb);
}

static void view_tombstones(struct world *w, struct snapshot *s)
{
    s->view.tombstones = mem_alloc((s->record_count + 1) * sizeof(*s->view.tombstones));
    for (size_t i = 0; i < s->record_count; i++) {
        const struct record *record = s->records[i];
        const struct wtrack *track = world_track(w, record->name);
        const struct instance_view *inst = view_live(&s->view, record->instance);
        struct tombstone_view *tomb;

        if (inst && inst->record == record)
            continue;
        tomb = &s->view.tombstones[s->view.tombstone_count++];
        tomb->record = record;
        tomb->has_vipu_access = w->gives_vipu_access;
        if (track)
            tomb->partition = track->view;
        sum_up_tombstone(w, s, tomb);
    }
}

static void view_answers(const struct world *w, const struct job *job, struct job_view *view)
{
    view->dry_run = w->dry_run_generation == job->generation ? w->dry_run : DRY_RUN_NEEDED;
    view->dry_run_text = w->rejection ? w->rejection : "pods is forbidden";
    view->dry_run_reason = view->dry_run == DRY_RUN_INVALID ? "InvalidPodTemplate"
                           : w->forbidden_as                ? w->forbidden_as
                                                            : "QuotaExceeded";
    view->dry_run_retry_at_ms = w->dry_run_retry_at_ms;
    view->is_busy = w->is_busy;
    view->details_since_ms = w->details_since_ms;
    view->has_service = w->has_service;
    view->needs_policy = job->spec.has_launcher && !w->has_policy;
    view->create_rejected = w->create_rejected;
    view->endpoints_rejected = w->endpoints_rejected;
    view->service_has_selector = w->service_has_selector;
    view->create_reason = w->requeues          ? reason_find(w->requeue_reason)->name
                          : w->service_taken   ? "NameConflict"
                          : w->names_rejection ? "PodsForbidden"
                                               : "FailedCreate";
    view->create_text = w->requeues          ? w->requeue_text
                        : w->service_taken   ? "Service job-workers exists"
                        : w->names_rejection ? w->names_rejection
                        : w->rejection       ? w->rejection
                                             : w->requeue_text;
    view->write_rejected = w->write_rejected ? WORLD_REJECTED_WRITE : NULL;
    view->write_rejected_op = w->write_rejected_op;
    view->create_rejected_ms = w->create_rejected_ms;
    view->create_retry_at_ms = w->create_retry_at_ms;
    view->requeues = w->requeues;
    view->requeued_s = world_unix_s(w) - (w->now_ms - w->create_rejected_ms) / 1000;
    view->turn_s = w->created_s;
    view->pending_until_ms = w->pending_until_ms;
    view->pending_record = w->now_ms < w->pending_until_ms ? w->pending_record : NULL;
}

struct snapshot *world_observe(struct world *w)
{
    struct snapshot *s = NEW(struct snapshot);
    struct job_view *view = &s->view;
    AUTO(json) cJSON *object = world_job(w);

    s->job = job_parse(object);
    read_objects(w, s);
    view->job = w->exists ? s->job : NULL;
    view->ns = s->job->ns;
    view->name = s->job->name;
    view->operator_ns = WORLD_OPERATOR_NS;
    view->launcher_image = str_hash(w->launcher_image);
    view->partition_prefix = w->prefix;
    view->hold_ms = WORLD_HOLD_MS;
    view->requeue_ms = WORLD_REQUEUE_MS;
    view->partition_failure_ms = WORLD_TROUBLE_MS;
    view->now_ms = w->now_ms;
    view->now_unix_s = world_unix_s(w);
    view->unix_offset_ms = view->now_unix_s * 1000 - w->now_ms / 1000 * 1000;
    view->instance_count = !w->exists || s->job->problems.count ? 0 : s->job->spec.instances;
    view->surge_count = view->instance_count ? job_surge(&s->job->spec) : 0;
    view->live = mem_alloc((view_all(view) + 1) * sizeof(*view->live));
    view->live_count = view_all(view);
    view_answers(w, s->job, view);
    for (uint32_t i = 0; i < view_all(view); i++)
        view_instance(w, s, i);
    if (w->exists)
        view_pods(w, s);
    leave_out_idle(s);
    view_tombstones(w, s);
    return s;
}
