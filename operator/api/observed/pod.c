#include "operator/api/observed/pod.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/text/timefmt.h"
#include "base/core/utf8.h"
#include "operator/api/job/job.h"
#include "operator/api/names.h"
#include "operator/api/observed/log_tail.h"
#include "operator/api/observed/owner.h"
#include "operator/api/observed/pod_reasons.h"

/* A message is copied into status and events; the kubelet's own limit for termination messages is 4 KiB. */
#define MESSAGE_MAX 2048

static enum pod_phase phase_of(const char *text)
{
    static const char *const names[] = {"Pending", "Running", "Succeeded", "Failed"};

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (str_eq(text, names[i]))
            return (enum pod_phase)i;
    }
    return POD_UNKNOWN;
}

static void read_owner(struct pod *pod, const cJSON *metadata)
{
    const cJSON *owner = owner_job(metadata);

    mem_set_str(&pod->job_uid, json_str(owner, "uid", NULL));
    mem_set_str(&pod->job_name, json_str(owner, "name", NULL));
}

static uint64_t read_revision(const cJSON *metadata)
{
    const char *text = json_str(metadata, "annotations/graphcore.ai~1template-revision", "");

    return strspn(text, "0123456789abcdef") == 16 && !text[16] ? strtoull(text, NULL, 16) : 0;
}

static uint64_t hash_of(const char *text)
{
    return text ? str_hash(text) : 0;
}

static uint32_t metadata_number(const cJSON *metadata, const char *path)
{
    uint32_t n = 0;

    parse_u32(json_str(metadata, path, ""), 0, UINT32_MAX, &n);
    return n;
}

static uint32_t seat_of(const cJSON *metadata)
{
    bool is_launcher = str_eq(json_str(metadata, "labels/graphcore.ai~1role", ""), ROLE_LAUNCHER);

    uint32_t pod_index = metadata_number(metadata, is_launcher ? "annotations/graphcore.ai~1pod-index"
                                                               : "labels/graphcore.ai~1worker");

    return pod_index < POD_SEATS_MAX ? pod_index : POD_SEATS_MAX;
}

static uint16_t agent_port_of(const cJSON *spec)
{
    const cJSON *containers = json_at(spec, "containers");

    JSON_EACH (port, json_at(cJSON_IsArray(containers) ? containers->child : NULL, "ports")) {
        if (str_eq(json_str(port, "name", ""), AGENT_PORT_NAME))
            return (uint16_t)json_i64(port, "containerPort", 0);
    }
    return 0;
}

static char *read_host(const cJSON *object, const char *name)
{
    const char *host = json_str(object, "spec/hostname", NULL);

    return host && !str_eq(host, name) ? mem_strdup(host) : NULL;
}

static void keep_tail(char **slot, const char *text)
{
    size_t len = strlen(text);
    const char *from = len > MESSAGE_MAX ? text + len - MESSAGE_MAX : text;

    while (utf8_is_continuation(*from)) /* never start inside a UTF-8 sequence */
        from++;
    mem_set_str(slot, from);
}

/* The kubelet lists containers by name; the one that failed first is the cause, the others failed as a
 * consequence. */
static bool is_cause(const struct pod *pod, const cJSON *terminated, int64_t at)
{
    return json_i64(terminated, "exitCode", 0) != 0 && (!pod->failed_container || at < pod->failed_s);
}

static void read_termination(struct pod *pod, const cJSON *status, bool is_sidecar)
{
    const cJSON *terminated = json_at(status, "state/terminated");
    AUTO(mem)
    char *lines = log_tail_without_bars(log_tail_of_attempt(json_str(terminated, "message", "")));
    int64_t at = 0;

    if (timefmt_parse_rfc3339(json_str(terminated, "finishedAt", ""), &at) && at > pod->finished_s)
        pod->finished_s = at;
    /* The kubelet stops sidecars after the other containers; their exit codes do not count. */
    if (is_sidecar || !is_cause(pod, terminated, at))
        return;
    pod->failed_s = at;
    pod->exit_code = (int)json_i64(terminated, "exitCode", 0);
    pod->exit_signal = (int)json_i64(terminated, "signal", 0);
    /* A runtime may miss the end of a process other than the container's first. */
    mem_set_str(&pod->failed_reason,
                log_tail_is_out_of_memory(lines) ? "OOMKilled" : json_str(terminated, "reason", ""));
    pod->oom_killed = str_eq(pod->failed_reason, "OOMKilled");
    mem_set_str(&pod->failed_container, json_str(status, "name", ""));
    if (!pod->reason) /* a pod with a reason of its own, such as Evicted, is a better explanation */
        keep_tail(&pod->message, lines);
}

static void read_waiting(struct pod *pod, const cJSON *waiting)
{
    const char *reason = json_str(waiting, "reason", "");
    const char *trouble = pod_reason_of_waiting(reason);

    if (!trouble)
        return;
    pod->trouble = trouble;
    mem_set_str(&pod->reason, reason);
    keep_tail(&pod->message, json_str(waiting, "message", reason));
}

static bool names_sidecar(const cJSON *spec, const char *name)
{
    JSON_EACH (container, json_at(spec, "initContainers")) {
        if (str_eq(json_str(container, "name", NULL), name))
            return str_eq(json_str(container, "restartPolicy", ""), "Always");
    }
    return false;
}

/* Reads one list of container statuses; returns whether all of them have terminated. */
static bool read_statuses(struct pod *pod, const cJSON *spec, const cJSON *statuses)
{
    bool all_terminated = true;

    JSON_EACH (status, statuses) {
        bool terminated = json_at(status, "state/terminated") != NULL;
        const cJSON *waiting = json_at(status, "state/waiting");
        bool running = json_at(status, "state/running") != NULL;

        pod->has_started = pod->has_started || running || terminated;
        if (running)
            pod->started_all_terminated = false;
        if (!terminated)
            all_terminated = false;
        if (terminated)
            read_termination(pod, status, names_sidecar(spec, json_str(status, "name", "")));
        if (waiting)
            read_waiting(pod, waiting);
    }
    return all_terminated;
}

/* The init container that the operator adds prints nothing. */
static bool has_log(const cJSON *statuses)
{
    JSON_EACH (status, statuses) {
        bool has_started = json_at(status, "state/running") || json_at(status, "state/terminated");

        if (has_started && !str_eq(json_str(status, "name", ""), NAME_LAUNCHER_PART))
            return true;
    }
    return false;
}

/* The operator's own takes no time. */
static void read_running_init(struct pod *pod, const cJSON *spec, const cJSON *statuses)
{
    JSON_EACH (status, statuses) {
        const char *name = json_str(status, "name", "");

        if (json_at(status, "state/running") && !str_eq(name, NAME_LAUNCHER_PART) &&
            !names_sidecar(spec, name))
            mem_set_str(&pod->running_init, name);
    }
}

static const cJSON *find_status(const cJSON *statuses, const char *name)
{
    JSON_EACH (status, statuses) {
        if (str_eq(json_str(status, "name", ""), name))
            return status;
    }
    return NULL;
}

/* The job's program is the first container's; a pod ends with the last. */
static void read_lingering(struct pod *pod, const cJSON *spec, const cJSON *statuses)
{
    const cJSON *containers = json_at(spec, "containers");
    const char *first = json_str(cJSON_IsArray(containers) ? containers->child : NULL, "name", "");

    if (!json_at(find_status(statuses, first), "state/terminated"))
        return;
    JSON_EACH (status, statuses) {
        if (json_at(status, "state/running") && !pod->sidecar_still_running)
            pod->sidecar_still_running = mem_strdup(json_str(status, "name", ""));
    }
}

/* The kubelet ends a container whose probe or hook fails as it ends any other; only its events tell the
 * difference. */
static void read_killers(struct pod *pod, const cJSON *spec)
{
    JSON_EACH (container, json_at(spec, "containers")) {
        if (!str_eq(json_str(container, "name", ""), pod->failed_container))
            continue;
        pod->has_liveness_probe = json_at(container, "livenessProbe") != NULL;
        pod->has_startup_probe = json_at(container, "startupProbe") != NULL;
        pod->has_start_hook = json_at(container, "lifecycle/postStart") != NULL;
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

/* Since when a condition is true; 0: it is not. */
static bool is_true_since(const cJSON *status, const char *type, int64_t *ret_s)
{
    const cJSON *condition = find_condition(status, type);

    if (!str_eq(json_str(condition, "status", ""), "True"))
        return false;
    timefmt_parse_rfc3339(json_str(condition, "lastTransitionTime", ""), ret_s);
    return true;
}

static int64_t first_start(const cJSON *statuses)
{
    int64_t first = 0;

    JSON_EACH (status, statuses) {
        const cJSON *running = json_at(status, "state/running");
        const cJSON *state = running ? running : json_at(status, "state/terminated");
        int64_t at = 0;

        if (timefmt_parse_rfc3339(json_str(state, "startedAt", ""), &at) && at > 0 && (!first || at < first))
            first = at;
    }
    return first;
}

static void read_scheduling(struct pod *pod, const cJSON *status)
{
    JSON_EACH (condition, json_at(status, "conditions")) {
        const char *reason = json_str(condition, "reason", ""), *message = json_str(condition, "message", "");
        const char *trouble = pod_reason_of_scheduling(reason, message);

        if (!str_eq(json_str(condition, "type", ""), "PodScheduled") || !trouble)
            continue;
        pod->trouble = trouble;
        mem_set_str(&pod->reason, reason);
        keep_tail(&pod->message, message);
    }
}

/* "DisruptionTarget: DeletionByPodGC" is set together with the phase. */
static bool is_garbage(const cJSON *status)
{
    return str_eq(json_str(find_condition(status, "DisruptionTarget"), "reason", ""), "DeletionByPodGC");
}

static bool sandbox_not_ready(const cJSON *status)
{
    return str_eq(json_str(find_condition(status, "PodReadyToStartContainers"), "status", ""), "False");
}

/* A container that has ended makes a pod unready, too, and is reported as such. Of a node that does not
 * report, the condition Ready alone is changed (kubernetes/kubernetes, pkg/controller/util/node,
 * MarkPodsNotReady). */
static void read_readiness(struct pod *pod, const cJSON *spec, const cJSON *status)
{
    pod->ready = is_true_since(status, "Ready", &pod->ready_s);
    if (pod->phase != POD_RUNNING || pod->ready || !find_condition(status, "Ready") ||
        pod->sidecar_still_running)
        return;
    pod->node_not_ready = pod->node &&
                          str_eq(json_str(find_condition(status, "ContainersReady"), "status", ""), "True") &&
                          !json_at(spec, "readinessGates");
    if (pod->node_not_ready)
        timefmt_parse_rfc3339(json_str(find_condition(status, "Ready"), "lastTransitionTime", ""),
                              &pod->node_not_ready_s);
    JSON_EACH (container, json_at(status, "containerStatuses")) {
        if (json_at(container, "state/running") && !json_bool(container, "ready", true)) {
            mem_set_str(&pod->unready_container, json_str(container, "name", ""));
            return;
        }
    }
}

/* A deadline of one second that the operator has set; a user may have written either of the two. */
static void read_stop(struct pod *pod, const cJSON *metadata, const cJSON *spec)
{
    pod->grace_s = json_i64(spec, "terminationGracePeriodSeconds", POD_GRACE_S);
    if (json_i64(spec, "activeDeadlineSeconds", 0) == STOPPED_DEADLINE_S)
        timefmt_parse_rfc3339(json_str(metadata, "annotations/graphcore.ai~1stopped-at", ""),
                              &pod->stopped_s);
}

static void read_status(struct pod *pod, const cJSON *spec, const cJSON *status)
{
    const cJSON *containers = json_at(status, "containerStatuses");
    const char *reason = json_str(status, "reason", NULL);
    /* The kubelet reports so any pod that the operator stopped; how it ended, its containers tell. */
    bool is_of_stop = pod->stopped_s && str_eq(reason, "DeadlineExceeded");

    if (is_of_stop)
        reason = NULL;
    pod->phase = phase_of(json_str(status, "phase", "Pending"));
    timefmt_parse_rfc3339(json_str(status, "startTime", ""), &pod->started_s);
    mem_set_str(&pod->reason, reason);
    if (json_str(status, "message", NULL) && !is_of_stop)
        keep_tail(&pod->message, json_str(status, "message", ""));
    pod->started_all_terminated = true;
    read_statuses(pod, spec, json_at(status, "initContainerStatuses"));
    pod->main_done = read_statuses(pod, spec, containers) && containers && containers->child;
    pod->has_log = has_log(containers) || has_log(json_at(status, "initContainerStatuses"));
    if (is_of_stop && pod->phase == POD_FAILED && pod->main_done && !pod->failed_container)
        pod->phase = POD_SUCCEEDED;
    read_lingering(pod, spec, containers);
    read_running_init(pod, spec, json_at(status, "initContainerStatuses"));
    if (pod->failed_container)
        read_killers(pod, spec);
    if (pod->oom_killed && !pod->reason)
        mem_set_str(&pod->reason, "OOMKilled");
    if (is_garbage(status) && !pod->main_done)
        pod->phase = POD_UNKNOWN;
    pod->begun_s = first_start(containers);
    (void)is_true_since(status, "PodScheduled", &pod->scheduled_s);
    read_readiness(pod, spec, status);
    pod->sandbox_not_ready = sandbox_not_ready(status);
    if (pod->phase == POD_PENDING && !pod->reason)
        read_scheduling(pod, status);
    pod->disruption = pod_reason_of_disruption(status, &pod->disrupted_s);
    if (pod->phase == POD_FAILED)
        pod->trouble = pod_reason_of_failure(reason, pod->failed_reason, containers && containers->child,
                                             pod->disruption);
}

static bool has_ended_before(const struct pod *pod, int64_t at_s)
{
    return pod_is_terminal(pod) && pod->finished_s && pod->finished_s < at_s;
}

/* deletionTimestamp is the end of the grace period. A pod that had ended is removed at once and is not
 * stopped, so one that is seen both deleting or stopped and ended had nearly always been running. */
static void read_end(struct pod *pod, const cJSON *metadata)
{
    bool is_deleted_while_running;
    int64_t asked_s;

    pod->deleting = json_str(metadata, "deletionTimestamp", NULL) != NULL;
    timefmt_parse_rfc3339(json_str(metadata, "deletionTimestamp", ""), &pod->termination_deadline_s);
    asked_s = pod->termination_deadline_s - json_i64(metadata, "deletionGracePeriodSeconds", 0);
    is_deleted_while_running = pod->deleting && !has_ended_before(pod, asked_s);
    pod->stopped_while_running =
        is_deleted_while_running || (pod->stopped_s && !has_ended_before(pod, pod->stopped_s));
    /* The condition comes before the deletion, which may still be rejected; the garbage collector's is final.
     */
    if (!is_deleted_while_running && pod->phase != POD_UNKNOWN)
        pod->disruption = NULL;
    if (pod->stopped_s && pod->disrupted_s >= pod->stopped_s) /* it was to end anyway */
        pod->disruption = NULL;
}

/* ---- one block ---- */

static const size_t TEXTS[] = {
    offsetof(struct pod, ns),
    offsetof(struct pod, name),
    offsetof(struct pod, uid),
    offsetof(struct pod, resource_version),
    offsetof(struct pod, job_uid),
    offsetof(struct pod, job_name),
    offsetof(struct pod, job_key),
    offsetof(struct pod, partition),
    offsetof(struct pod, node),
    offsetof(struct pod, ip),
    offsetof(struct pod, reason),
    offsetof(struct pod, failed_container),
    offsetof(struct pod, message),
    offsetof(struct pod, failed_reason),
    offsetof(struct pod, host),
    offsetof(struct pod, sidecar_still_running),
    offsetof(struct pod, unready_container),
    offsetof(struct pod, running_init),
};

static char **text_of(struct pod *pod, size_t i)
{
    return (char **)(void *)((char *)pod + TEXTS[i]);
}

/* There are as many of them as pods, and separate allocations would cost more than the strings. */
static struct pod *pack(struct pod *loose_take)
{
    size_t size = sizeof(struct pod);
    struct pod *pod;
    char *at;

    for (size_t i = 0; i < COUNT_OF(TEXTS); i++)
        size += *text_of(loose_take, i) ? strlen(*text_of(loose_take, i)) + 1 : 0;
    pod = mem_alloc(size);
    *pod = *loose_take;
    at = (char *)(pod + 1);
    for (size_t i = 0; i < COUNT_OF(TEXTS); i++) {
        AUTO(mem) char *text = *text_of(loose_take, i);

        if (!text)
            continue;
        *text_of(pod, i) = memcpy(at, text, strlen(text) + 1);
        at += strlen(text) + 1;
    }
    mem_free(loose_take);
    return pod;
}

struct pod *pod_parse(const cJSON *object)
{
    const cJSON *metadata = json_at(object, "metadata");

    if (!json_str(metadata, "name", NULL) || !json_str(metadata, "uid", NULL))
        return NULL;

    struct pod *pod = NEW(struct pod);

    pod->ns = mem_strdup(json_str(metadata, "namespace", ""));
    pod->name = mem_strdup(json_str(metadata, "name", ""));
    pod->uid = mem_strdup(json_str(metadata, "uid", ""));
    pod->resource_version = mem_strdup(json_str(metadata, "resourceVersion", ""));
    timefmt_parse_rfc3339(json_str(metadata, "creationTimestamp", ""), &pod->created_s);
    pod->partition = mem_strdup(json_str(metadata, "annotations/graphcore.ai~1partition", NULL));
    pod->run = metadata_number(metadata, "annotations/graphcore.ai~1run");
    pod->revision = read_revision(metadata);
    pod->launcher_image = hash_of(json_str(metadata, "annotations/graphcore.ai~1launcher-image", NULL));
    pod->instance = metadata_number(metadata, "labels/graphcore.ai~1instance");
    pod->worker = seat_of(metadata);
    pod->agent_port = agent_port_of(json_at(object, "spec"));
    pod->ip = mem_strdup(json_str(object, "status/podIP", NULL));
    pod->host = read_host(object, pod->name);
    pod->node = mem_strdup(json_str(object, "spec/nodeName", NULL));
    read_owner(pod, metadata);
    pod->job_key = pod->job_name ? mem_printf("%s/%s", pod->ns, pod->job_name) : mem_strdup("");
    read_stop(pod, metadata, json_at(object, "spec"));
    read_status(pod, json_at(object, "spec"), json_at(object, "status"));
    read_end(pod, metadata);
    return pack(pod);
}

void pod_merge_previous(struct pod *pod, const struct pod *before)
{
    if (!str_eq(pod->uid, before->uid) || !before->stopped_while_running || pod->stopped_while_running)
        return;
    pod->stopped_while_running = true;
    pod->disruption = before->disruption;
    pod->disrupted_s = before->disrupted_s;
}

void pod_free(struct pod *pod)
{
    mem_free(pod);
}

bool pod_is_terminal(const struct pod *pod)
{
    return pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
}

char *pod_describe_silent_node(const struct pod *pod)
{
    char since[TIMEFMT_RFC3339_SIZE];

    if (!pod->node_not_ready_s)
        return mem_strdup("is not ready");
    return mem_printf("has not been ready since %s", timefmt_rfc3339(pod->node_not_ready_s, since));
}

char *pod_describe_unready(const struct pod *pod)
{
    AUTO(mem) char *node = pod->node_not_ready ? pod_describe_silent_node(pod) : NULL;

    if (node)
        return mem_printf("node %s %s", pod->node, node);
    if (pod->unready_container)
        return mem_printf("container %s runs, but does not pass its readiness or startup probe",
                          pod->unready_container);
    return NULL;
}

bool pod_is_ending(const struct pod *pod)
{
    return pod->deleting || pod->stopped_s;
}

bool pod_has_stopped(const struct pod *pod, bool gone, bool node_is_fenced)
{
    if (node_is_fenced)
        return true;
    if (!pod->node)
        return gone;
    return pod_is_terminal(pod) && pod->started_all_terminated;
}
