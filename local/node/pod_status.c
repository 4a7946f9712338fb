#include "local/node/pod_status.h"

#include "base/core/str.h"

static bool has_failed(const struct container_view *container)
{
    return container->state == CONTAINER_ENDED && container->exit_code != 0 &&
           container->role != CONTAINER_SIDECAR;
}

static bool is_init_done(const struct container_view *container)
{
    return container->role == CONTAINER_SIDECAR
               ? container->state != CONTAINER_WAITING
               : container->state == CONTAINER_ENDED && container->exit_code == 0;
}

bool pod_view_is_initialized(const struct pod_view *view)
{
    for (size_t i = 0; i < view->count; i++)
        if (view->containers[i].role != CONTAINER_MAIN && !is_init_done(&view->containers[i]))
            return false;
    return true;
}

/* kubernetes.io, Pod Lifecycle, How Pods handle problems with containers. */
int64_t pod_restart_delay_s(unsigned ends)
{
    enum { FIRST_S = 10, MAX_S = 300, DOUBLINGS = 5 };

    if (ends <= 1)
        return 0;
    return ends - 2 < DOUBLINGS ? FIRST_S << (ends - 2) : MAX_S;
}

static bool is_ready(const struct pod_view *view)
{
    for (size_t i = 0; i < view->count; i++)
        if (view->containers[i].role == CONTAINER_MAIN && !view->containers[i].is_ready)
            return false;
    return pod_view_is_initialized(view);
}

/* kubernetes/kubernetes, pkg/kubelet/kubelet_pods.go, getPhase, for restartPolicy Never. */
static const char *phase_of(const struct pod_view *view)
{
    bool failed = view->reason != NULL, started = pod_view_is_initialized(view);

    for (size_t i = 0; i < view->count; i++) {
        failed = failed || has_failed(&view->containers[i]);
        started = started && view->containers[i].state != CONTAINER_WAITING;
    }
    if (view->is_over)
        return failed ? "Failed" : "Succeeded";
    return started ? "Running" : "Pending";
}

static void put_state(cJSON *status, const struct container_view *container)
{
    cJSON *state = json_put_object(status, "state");

    if (container->state == CONTAINER_WAITING) {
        cJSON *waiting = json_put_object(state, "waiting");

        json_put_str(waiting, "reason", container->reason ? container->reason : "PodInitializing");
        json_put_str(waiting, "message", container->message);
    } else if (container->state == CONTAINER_RUNNING) {
        json_put_time(json_put_object(state, "running"), "startedAt", container->started_s);
    } else {
        cJSON *terminated = json_put_object(state, "terminated");

        json_put_i64(terminated, "exitCode", container->exit_code);
        json_put_str(terminated, "reason", container->reason);
        json_put_str(terminated, "message", container->message);
        json_put_time(terminated, "startedAt", container->started_s);
        json_put_time(terminated, "finishedAt", container->finished_s);
    }
}

static void put_containers(cJSON *status, const char *key, const struct pod_view *view, bool is_init)
{
    cJSON *list = NULL;

    for (size_t i = 0; i < view->count; i++) {
        const struct container_view *container = &view->containers[i];

        if ((container->role != CONTAINER_MAIN) != is_init)
            continue;
        list = list ? list : json_put_array(status, key);
        cJSON *entry = json_push_take(list, json_object());
        json_put_str(entry, "name", container->name);
        json_put_str(entry, "image", container->image);
        json_put_i64(entry, "restartCount", container->restarts);
        json_put_bool(entry, "ready", container->is_ready);
        json_put_bool(entry, "started", container->state == CONTAINER_RUNNING);
        put_state(entry, container);
    }
}

static const cJSON *find_condition(const cJSON *status, const char *type)
{
    JSON_EACH (condition, json_at(status, "conditions")) {
        if (str_eq(json_str(condition, "type", ""), type))
            return condition;
    }
    return NULL;
}

static void put_condition(cJSON *list, const cJSON *before, const char *type, bool is_true,
                          const char *reason, int64_t now_s)
{
    const cJSON *old = find_condition(before, type);
    const char *value = is_true ? "True" : "False";
    cJSON *condition = json_push_take(list, json_object());

    json_put_str(condition, "type", type);
    json_put_str(condition, "status", value);
    json_put_str(condition, "reason", is_true ? NULL : reason);
    if (str_eq(json_str(old, "status", NULL), value))
        json_put_str(condition, "lastTransitionTime", json_str(old, "lastTransitionTime", ""));
    else
        json_put_time(condition, "lastTransitionTime", now_s);
}

void pod_status_put(cJSON *pod, const struct pod_view *view, int64_t now_s)
{
    AUTO(json) cJSON *before = json_dup(json_at(pod, "status"));
    const char *phase = phase_of(view);
    const char *why = str_eq(phase, "Succeeded") ? "PodCompleted" : "ContainersNotReady";
    cJSON *status = json_put_take(pod, "status", json_object());
    cJSON *conditions = json_put_array(status, "conditions");

    json_put_str(status, "phase", phase);
    json_put_str(status, "reason", view->reason);
    json_put_str(status, "message", view->message);
    json_put_str(status, "hostIP", view->address);
    json_put_str(status, "podIP", view->address);
    json_put_str(json_push_take(json_put_array(status, "podIPs"), json_object()), "ip", view->address);
    json_put_time(status, "startTime", view->started_s);
    put_condition(conditions, before, "PodReadyToStartContainers", !view->is_over, NULL, now_s);
    put_condition(conditions, before, "Initialized", pod_view_is_initialized(view),
                  "ContainersNotInitialized", now_s);
    put_condition(conditions, before, "Ready", is_ready(view), why, now_s);
    put_condition(conditions, before, "ContainersReady", is_ready(view), why, now_s);
    put_condition(conditions, before, "PodScheduled", true, NULL, now_s);
    put_containers(status, "initContainerStatuses", view, true);
    put_containers(status, "containerStatuses", view, false);
}
