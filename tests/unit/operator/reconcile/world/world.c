#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/api/names.h"

#define START_UNIX_S 1790000000
#define GRACE_S 30

void world_fail(const struct world *w, const char *fmt, ...)
{
    AUTO(mem) char *text = NULL;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    va_end(args);
    CHECK_FAIL("seed %" PRIu64 ", at %" PRId64 " ms%s%s: %s", w->seed, w->now_ms, w->story ? ", " : "",
               w->story ? w->story : "", text);
}

uint64_t world_roll(struct world *w, uint64_t sides)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (w->random >> 11) % sides;
}

struct world *world_new(const char *spec)
{
    struct world *w = NEW(struct world);
    struct err err = {0};

    w->spec = json_parse(slice_of(spec), &err);
    CHECK_OK(w->spec, err);
    w->status = json_object();
    w->random = 88172645463325252u;
    w->now_ms = WORLD_START_MS;
    w->name = mem_strdup("job");
    w->prefix = "p";
    w->launcher_image = "launcher:1";
    w->generation = 1;
    w->created_s = world_unix_s(w);
    w->exists = true;
    return w;
}

static void pod_free_all(struct wpod *pod)
{
    mem_free(pod->name);
    mem_free(pod->uid);
    mem_free(pod->partition);
    mem_free(pod->node);
    mem_free(pod->keys);
    mem_free(pod);
}

void world_free(struct world *w)
{
    if (!w)
        return;
    world_forget(w);
    for (size_t i = 0; i < w->pod_count; i++)
        pod_free_all(w->pods[i]);
    for (size_t i = 0; i < w->record_count; i++)
        cJSON_Delete(w->records[i]);
    for (size_t i = 0; i < w->slice_count; i++)
        cJSON_Delete(w->slices[i]);
    while (w->partition_count)
        world_partition_drop(w, w->partitions[0].id);
    for (size_t i = 0; i < w->stray_count; i++)
        mem_free(w->strays[i].id);
    strv_release(&w->disturbed);
    strv_release(&w->secrets);
    cJSON_Delete(w->spec);
    cJSON_Delete(w->status);
    mem_free(w->pods);
    mem_free(w->records);
    mem_free(w->slices);
    mem_free(w->partitions);
    mem_free(w->strays);
    mem_free(w->tracks);
    mem_free(w->name);
    mem_free(w->requeue_reason);
    mem_free(w->requeue_text);
    strv_release(&w->event_reasons);
    strv_release(&w->event_notes);
    mem_free(w);
}

int64_t world_unix_s(const struct world *w)
{
    return START_UNIX_S + w->now_ms / 1000;
}

cJSON *world_job(const struct world *w)
{
    cJSON *object = json_object();
    cJSON *metadata = json_put_object(object, "metadata");

    json_put_str(metadata, "name", w->name);
    json_put_str(metadata, "namespace", "ns");
    json_put_str(metadata, "uid", "0a1b2c3d-4e5f-6789-abcd-ef0123456789");
    json_put_strf(metadata, "resourceVersion", "%u", w->writes);
    json_put_i64(metadata, "generation", w->generation);
    json_put_time(metadata, "creationTimestamp", w->created_s);
    if (w->deleting)
        json_put_time(metadata, "deletionTimestamp", w->created_s);
    cJSON *finalizers = json_put_array(metadata, "finalizers");
    if (w->other_finalizer)
        json_push_str(finalizers, w->other_finalizer);
    if (w->finalizer)
        json_push_str(finalizers, API_FINALIZER);
    cJSON *annotations = json_put_object(metadata, "annotations");
    if (w->release)
        json_put_str(annotations, "graphcore.ai/release", w->release);
    if (w->operator_ns)
        json_put_str(annotations, "graphcore.ai/operator", w->operator_ns);
    json_put_take(object, "spec", json_dup(w->spec));
    json_put_take(object, "status", json_dup(w->status));
    return object;
}

void world_set_spec(struct world *w, const char *field, const char *json)
{
    struct err err = {0};
    cJSON *value = json_parse(slice_of(json), &err);

    CHECK_OK(value, err);
    json_put_take(w->spec, field, value);
    w->generation++;
}

void world_delete_job(struct world *w)
{
    w->deleting = true;
    w->exists = w->finalizer || w->other_finalizer;
}

static bool is_spent(const cJSON *record)
{
    return json_at(record, "data/spentAt") != NULL;
}

size_t world_held(const struct world *w)
{
    size_t held = 0;

    for (size_t i = 0; i < w->record_count; i++)
        held += !is_spent(w->records[i]);
    return held;
}

bool world_is_spent(struct world *w, const char *name)
{
    return is_spent(world_record(w, name));
}

cJSON *world_record(struct world *w, const char *name)
{
    for (size_t i = 0; i < w->record_count; i++) {
        if (str_eq(json_str(w->records[i], "metadata/name", ""), name))
            return w->records[i];
    }
    return NULL;
}

const char *world_said(const struct world *w, const char *path)
{
    return json_str(w->status, path, "");
}

int64_t world_number(const struct world *w, const char *path)
{
    return json_i64(w->status, path, -1);
}

void world_drop_secrets(struct world *w)
{
    w->secrets_were_dropped = true;
    strv_release(&w->secrets);
}

/* ---- pods ---- */

struct wpod *world_pod(struct world *w, const char *name)
{
    for (size_t i = 0; i < w->pod_count; i++) {
        if (w->pods[i]->exists && str_eq(w->pods[i]->name, name))
            return w->pods[i];
    }
    return NULL;
}

static void put_container_state(cJSON *status, const struct wpod *pod)
{
    cJSON *container = json_push_take(json_put_array(status, "containerStatuses"), json_object());
    cJSON *state = json_put_object(container, "state");

    json_put_str(container, "name", "main");
    if (pod->report == REPORT_WAITING) {
        json_put_str(json_put_object(state, "waiting"), "reason",
                     pod->waits_in ? pod->waits_in : "ContainerCreating");
    } else if (pod->report == REPORT_RUNNING) {
        json_put_object(state, "running");
        json_put_bool(container, "ready", !pod->fails_probe);
    } else {
        cJSON *terminated = json_put_object(state, "terminated");

        json_put_i64(terminated, "exitCode", pod->exit_code);
        json_put_str(terminated, "reason", pod->is_out_of_memory ? "OOMKilled" : "Error");
        json_put_str(terminated, "message", pod->last_words);
        json_put_time(terminated, "finishedAt", pod->ended_s);
    }
}

static void put_lingering(cJSON *object, const struct wpod *pod)
{
    cJSON *containers = json_put_array(json_at_mut(object, "spec"), "containers");
    cJSON *main = json_at_mut(object, "status/containerStatuses")->child;
    cJSON *board = json_push_take(json_at_mut(object, "status/containerStatuses"), json_object());

    json_put_str(json_push_take(containers, json_object()), "name", "main");
    json_put_str(json_push_take(containers, json_object()), "name", "board");
    json_put_i64(json_put_object(json_put_object(main, "state"), "terminated"), "exitCode", pod->exit_code);
    json_put_str(board, "name", "board");
    json_put_object(json_put_object(board, "state"), "running");
}

static void put_running_init(cJSON *status, const char *name)
{
    cJSON *container = json_push_take(json_put_array(status, "initContainerStatuses"), json_object());

    json_put_str(container, "name", name);
    json_put_object(json_put_object(container, "state"), "running");
}

/* A kubelet calls every pod so that has not ended before, however its containers end (kubernetes/kubernetes,
 * pkg/kubelet/kubelet_pods.go, generateAPIPodStatus). */
static bool is_past_deadline(const struct wpod *pod)
{
    return pod->stopped_ms && pod->report == REPORT_ENDED;
}

static const char *phase_of(const struct wpod *pod)
{
    if (pod->collected || is_past_deadline(pod))
        return "Failed";
    if (pod->report == REPORT_ENDED)
        return pod->exit_code ? "Failed" : "Succeeded";
    return pod->report == REPORT_RUNNING ? "Running" : "Pending";
}

static cJSON *conditions_of(cJSON *status)
{
    cJSON *conditions = json_at_mut(status, "conditions");

    return conditions ? conditions : json_put_array(status, "conditions");
}

static void put_disruption(cJSON *status, const struct wpod *pod)
{
    cJSON *condition = json_push_take(conditions_of(status), json_object());

    json_put_str(condition, "type", "DisruptionTarget");
    json_put_str(condition, "status", "True");
    json_put_str(condition, "reason", pod->collected ? "DeletionByPodGC" : pod->taken_by);
    if (pod->asked_ms)
        json_put_time(condition, "lastTransitionTime", START_UNIX_S + pod->asked_ms / 1000);
}

static void put_ready(cJSON *status, const struct wpod *pod)
{
    cJSON *ready = json_push_take(conditions_of(status), json_object());
    cJSON *containers = json_push_take(conditions_of(status), json_object());

    json_put_str(ready, "type", "Ready");
    json_put_str(ready, "status", pod->fails_probe || pod->node_not_ready ? "False" : "True");
    if (pod->node_not_ready)
        json_put_time(ready, "lastTransitionTime", START_UNIX_S);
    json_put_str(containers, "type", "ContainersReady");
    json_put_str(containers, "status", pod->fails_probe ? "False" : "True");
}

/* It keeps it when it has ended. */
static void put_address(cJSON *status, const struct wpod *pod)
{
    if (pod->report < REPORT_RUNNING)
        return;
    if (pod->ip)
        json_put_str(status, "podIP", pod->ip);
    else
        json_put_strf(status, "podIP", "10.0.%u.%u", pod->instance, pod->worker);
}

static void put_unscheduled(cJSON *status, const struct wpod *pod)
{
    cJSON *condition = json_push_take(conditions_of(status), json_object());

    json_put_str(condition, "type", "PodScheduled");
    json_put_str(condition, "status", "False");
    json_put_str(condition, "reason", pod->is_gated ? "SchedulingGated" : "Unschedulable");
    json_put_str(condition, "message", pod->waits_for);
}

static void put_scheduled(cJSON *status, const struct wpod *pod)
{
    cJSON *placed = json_push_take(conditions_of(status), json_object());

    json_put_str(placed, "type", "PodScheduled");
    json_put_str(placed, "status", "True");
    json_put_time(placed, "lastTransitionTime", START_UNIX_S + pod->scheduled_ms / 1000);
}

static void put_unprepared(cJSON *status)
{
    cJSON *prepared = json_push_take(conditions_of(status), json_object());

    json_put_str(prepared, "type", "PodReadyToStartContainers");
    json_put_str(prepared, "status", "False");
}

static void put_pod_metadata(cJSON *metadata, const struct wpod *pod)
{
    cJSON *labels = json_put_object(metadata, "labels");
    cJSON *annotations = json_put_object(metadata, "annotations");
    cJSON *owner = json_push_take(json_put_array(metadata, "ownerReferences"), json_object());

    json_put_str(metadata, "name", pod->name);
    json_put_str(metadata, "namespace", "ns");
    json_put_str(metadata, "uid", pod->uid);
    json_put_time(metadata, "creationTimestamp", START_UNIX_S + pod->created_ms / 1000);
    json_put_strf(labels, LABEL_INSTANCE, "%u", pod->instance);
    if (pod->is_launcher)
        json_put_strf(annotations, ANNOTATION_POD_INDEX, "%u", pod->worker);
    else
        json_put_strf(labels, LABEL_WORKER, "%u", pod->worker);
    json_put_str(labels, LABEL_ROLE, pod->is_launcher ? ROLE_LAUNCHER : ROLE_WORKER);
    json_put_str(annotations, ANNOTATION_PARTITION, pod->partition);
    json_put_strf(annotations, ANNOTATION_RUN, "%u", pod->run);
    json_put_str(annotations, ANNOTATION_LAUNCHER_IMAGE, pod->launcher_image);
    json_put_strf(annotations, ANNOTATION_REVISION, "%016llx", (unsigned long long)pod->revision);
    if (pod->stopped_ms)
        json_put_time(annotations, ANNOTATION_STOPPED, START_UNIX_S + pod->stopped_ms / 1000);
    json_put_str(owner, "apiVersion", API_GROUP_VERSION);
    json_put_str(owner, "kind", API_KIND);
    json_put_str(owner, "name", "job");
    json_put_str(owner, "uid", "0a1b2c3d-4e5f-6789-abcd-ef0123456789");
    json_put_bool(owner, "controller", true);
    if (pod->deleting) {
        json_put_time(metadata, "deletionTimestamp", START_UNIX_S + pod->asked_ms / 1000 + GRACE_S);
        json_put_i64(metadata, "deletionGracePeriodSeconds", GRACE_S);
    }
}

cJSON *world_pod_object(const struct wpod *pod)
{
    cJSON *object = json_object();
    cJSON *spec, *status;

    put_pod_metadata(json_put_object(object, "metadata"), pod);
    spec = json_put_object(object, "spec");
    json_put_str(spec, "nodeName", pod->node);
    if (pod->stopped_ms)
        json_put_i64(spec, "activeDeadlineSeconds", STOPPED_DEADLINE_S);
    status = json_put_object(object, "status");
    json_put_str(status, "phase", phase_of(pod));
    json_put_str(status, "reason", is_past_deadline(pod) ? "DeadlineExceeded" : pod->ended_by);
    if (pod->has_running_sidecar)
        put_running_init(status, "proxy");
    if (pod->report != REPORT_NOTHING)
        put_container_state(status, pod);
    if (pod->report == REPORT_RUNNING && !pod->is_unready)
        put_ready(status, pod);
    put_address(status, pod);
    if (pod->has_lingering)
        put_lingering(object, pod);
    if (pod->collected || pod->taken_by)
        put_disruption(status, pod);
    if (pod->waits_for)
        put_unscheduled(status, pod);
    if (pod->sandbox_not_ready || pod->running_init)
        put_scheduled(status, pod);
    if (pod->sandbox_not_ready)
        put_unprepared(status);
    if (pod->running_init)
        put_running_init(status, "wait");
    return object;
}

void world_pod_schedule(struct world *w, struct wpod *pod)
{
    pod->node = mem_printf("node-of-%s", pod->uid);
    pod->report = REPORT_WAITING;
    pod->scheduled_ms = w->now_ms;
    world_saw_pod(w, pod);
}

void world_pod_run(struct world *w, struct wpod *pod, bool is_reported)
{
    pod->process = true;
    if (!is_reported || pod->node_silent)
        return;
    pod->report = REPORT_RUNNING;
    world_saw_pod(w, pod);
}

static void report_end(struct world *w, struct wpod *pod, int exit_code)
{
    pod->process = false;
    if (pod->report == REPORT_ENDED)
        return;
    pod->report = REPORT_ENDED;
    pod->exit_code = exit_code;
    pod->ended_s = world_unix_s(w);
}

void world_pod_end(struct world *w, struct wpod *pod, int exit_code)
{
    report_end(w, pod, exit_code);
    world_saw_pod(w, pod);
}

static void remove_object(struct world *w, struct wpod *pod, bool unseen)
{
    pod->exists = false;
    pod->vanished_ms = w->now_ms;
    world_missed_pod(w, pod, unseen);
}

void world_pod_delete(struct world *w, struct wpod *pod)
{
    if (pod->deleting)
        return;
    pod->asked_ms = w->now_ms;
    if (!pod->node || pod->report == REPORT_ENDED || pod->collected) { /* nothing to be graceful to */
        remove_object(w, pod, false);
        return;
    }
    pod->deleting = true;
    world_saw_pod(w, pod);
}

void world_pod_take(struct world *w, struct wpod *pod, const char *by)
{
    pod->taken_by = by;
    world_pod_delete(w, pod);
}

bool world_pod_must_obey(const struct wpod *pod)
{
    return pod->deleting || (pod->stopped_ms && pod->report != REPORT_ENDED);
}

void world_pod_obey(struct world *w, struct wpod *pod, int exit_code)
{
    report_end(w, pod, exit_code);
    if (pod->deleting)
        remove_object(w, pod, false);
    else
        world_saw_pod(w, pod);
}

void world_pod_vanish(struct world *w, struct wpod *pod, bool unseen)
{
    remove_object(w, pod, unseen);
}

void world_pod_collect(struct world *w, struct wpod *pod)
{
    pod->collected = pod->report != REPORT_ENDED;
    world_saw_pod(w, pod);
}

void world_pod_fence(struct world *w, struct wpod *pod)
{
    (void)w;
    pod->process = false;
    pod->node_fenced = true;
}
