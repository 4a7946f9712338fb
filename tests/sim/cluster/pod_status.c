#include "cluster/pod_status.h"

#include "base/core/str.h"
#include "base/text/timefmt.h"
#include "fakes/clock.h"

static cJSON *status_of(cJSON *pod)
{
    cJSON *status = json_at_mut(pod, "status");

    return status ? status : json_put_object(pod, "status");
}

static void put_now(cJSON *object, const char *key)
{
    char text[TIMEFMT_RFC3339_SIZE];

    json_put_str(object, key, timefmt_rfc3339(clock_unix_s(), text));
}

static cJSON *condition_of(cJSON *status, const char *type)
{
    cJSON *conditions = json_at_mut(status, "conditions");

    if (!conditions)
        conditions = json_put_array(status, "conditions");
    for (cJSON *condition = conditions->child; condition; condition = condition->next) {
        if (str_eq(json_str(condition, "type", ""), type))
            return condition;
    }
    return json_push_take(conditions, json_object());
}

static void put_condition(cJSON *status, const char *type, bool is_true, const char *reason,
                          const char *message)
{
    cJSON *condition = condition_of(status, type);

    json_put_str(condition, "type", type);
    json_put_str(condition, "status", is_true ? "True" : "False");
    json_put_str(condition, "reason", reason);
    json_put_str(condition, "message", message);
}

/* One status per container of the list, each in the state that `fill` writes. */
static void put_statuses(cJSON *pod, const char *containers, const char *key,
                         void (*fill)(cJSON *state, bool is_first, int exit_code), int exit_code)
{
    cJSON *statuses = json_put_array(status_of(pod), key);
    bool is_first = true;

    JSON_EACH (container, json_at(pod, containers)) {
        cJSON *status = json_push_take(statuses, json_object());

        json_put_str(status, "name", json_str(container, "name", ""));
        fill(json_put_object(status, "state"), is_first, exit_code);
        is_first = false;
    }
}

static void fill_running(cJSON *state, bool is_first, int exit_code)
{
    (void)is_first;
    (void)exit_code;
    put_now(json_put_object(state, "running"), "startedAt");
}

static void fill_ended(cJSON *state, bool is_first, int exit_code)
{
    cJSON *terminated = json_put_object(state, "terminated");
    int code = is_first ? exit_code : 0;

    json_put_i64(terminated, "exitCode", code);
    json_put_str(terminated, "reason", code ? "Error" : "Completed");
    json_put_str(terminated, "message", code ? "the last line of the log" : "");
    put_now(terminated, "startedAt");
    put_now(terminated, "finishedAt");
}

static void fill_waiting(cJSON *state, bool is_first, int exit_code)
{
    (void)is_first;
    (void)exit_code;
    json_put_str(json_put_object(state, "waiting"), "reason", "PodInitializing");
}

void pod_status_unschedulable(cJSON *pod)
{
    put_condition(status_of(pod), "PodScheduled", false, "Unschedulable",
                  "0/2 nodes are available: 2 Insufficient memory.");
}

void pod_status_waits(cJSON *pod, const char *reason, const char *message)
{
    cJSON *status;
    cJSON *waiting;

    put_statuses(pod, "spec/containers", "containerStatuses", fill_waiting, 0);
    status = json_at_mut(pod, "status/containerStatuses");
    waiting = json_at_mut(status ? status->child : NULL, "state/waiting");
    json_put_str(waiting, "reason", reason);
    json_put_str(waiting, "message", message);
}

void pod_status_runs(cJSON *pod, unsigned address)
{
    json_put_str(status_of(pod), "phase", "Running");
    put_now(status_of(pod), "startTime");
    json_put_strf(status_of(pod), "podIP", "10.%u.%u.%u", address >> 16 & 255, address >> 8 & 255,
                  address & 255);
    put_condition(status_of(pod), "Ready", true, "", "");
    put_statuses(pod, "spec/initContainers", "initContainerStatuses", fill_ended, 0);
    put_statuses(pod, "spec/containers", "containerStatuses", fill_running, 0);
}

void pod_status_disrupted(cJSON *pod, const char *reason)
{
    put_condition(status_of(pod), "DisruptionTarget", true, reason, "");
}

void pod_status_ended(cJSON *pod, int exit_code)
{
    json_put_str(status_of(pod), "phase", exit_code ? "Failed" : "Succeeded");
    put_condition(status_of(pod), "Ready", false, "PodCompleted", "");
    put_statuses(pod, "spec/containers", "containerStatuses", fill_ended, exit_code);
}

/* kubernetes/kubernetes, pkg/kubelet/active_deadline.go. */
void pod_status_past_deadline(cJSON *pod)
{
    cJSON *status = status_of(pod);

    json_put_str(status, "phase", "Failed");
    json_put_str(status, "reason", "DeadlineExceeded");
    json_put_str(status, "message", "Pod was active on the node longer than the specified deadline");
}

void pod_status_let_go(cJSON *pod)
{
    cJSON *metadata = json_at_mut(pod, "metadata");
    char asked[TIMEFMT_RFC3339_SIZE];
    int64_t at = 0;

    timefmt_parse_rfc3339(json_str(metadata, "deletionTimestamp", ""), &at);
    at -= json_i64(metadata, "deletionGracePeriodSeconds", 0);
    json_put_str(metadata, "deletionTimestamp", timefmt_rfc3339(at, asked));
    json_put_i64(metadata, "deletionGracePeriodSeconds", 0);
}
