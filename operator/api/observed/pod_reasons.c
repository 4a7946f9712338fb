#include "operator/api/observed/pod_reasons.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/text/timefmt.h"

struct translation {
    const char *theirs, *ours;
};

static const char *translate(const struct translation *rows, size_t count, const char *theirs)
{
    for (size_t i = 0; i < count; i++) {
        if (str_eq(rows[i].theirs, theirs))
            return rows[i].ours;
    }
    return NULL;
}

/* The scheduler has one reason for everything that prevents a pod from being scheduled; a port conflict is
 * distinguished, because only another pod's end resolves it. */
const char *pod_reason_of_scheduling(const char *reason, const char *message)
{
    static const struct translation rows[] = {
        {"Unschedulable", "Unschedulable"},
        {"SchedulingGated", "SchedulingGated"},
    };

    if (str_eq(reason, "Unschedulable") && strstr(message, "free ports"))
        return "HostPortConflict";
    return translate(rows, COUNT_OF(rows), reason);
}

const char *pod_reason_of_waiting(const char *container_reason)
{
    static const struct translation rows[] = {
        {"RegistryUnavailable", "ImagePullFailed"},
        {"SignatureValidationFailed", "ImagePullFailed"},
        {"CreateContainerConfigError", "ContainerCannotStart"},
        {"CreateContainerError", "ContainerCannotStart"},
        {"RunContainerError", "ContainerCannotStart"},
        {"PostStartHookError", "ContainerCannotStart"},
        {"CrashLoopBackOff",
         "ContainerCannotStart"}, /* of a native sidecar: no other container starts twice */
    };

    if (strstr(container_reason, "Image")) /* ErrImagePull, ImagePullBackOff, InvalidImageName, ... */
        return "ImagePullFailed";
    return translate(rows, COUNT_OF(rows), container_reason);
}

const char *pod_reason_of_disruption(const cJSON *status, int64_t *ret_since_s)
{
    static const struct translation rows[] = {
        {"PreemptionByScheduler", "Preempted"}, {"EvictionByEvictionAPI", "Evicted"},
        {"DeletionByTaintManager", "NodeLost"}, {"DeletionByPodGC", "NodeLost"},
        {"TerminationByKubelet", "Evicted"},
    };

    *ret_since_s = 0;
    JSON_EACH (condition, json_at(status, "conditions")) {
        const char *reason;

        if (!str_eq(json_str(condition, "type", ""), "DisruptionTarget") ||
            str_eq(json_str(condition, "status", "True"), "False"))
            continue;
        timefmt_parse_rfc3339(json_str(condition, "lastTransitionTime", ""), ret_since_s);
        reason = translate(rows, COUNT_OF(rows), json_str(condition, "reason", ""));
        return reason ? reason : "Evicted";
    }
    return NULL;
}

const char *pod_reason_of_failure(const char *own, const char *container, bool has_statuses,
                                  const char *disruption)
{
    static const struct translation of_pod[] = {
        {"Evicted", "Evicted"},           {"Preempting", "Preempted"},
        {"NodeLost", "NodeLost"},         {"Terminated", "NodeShutdown"},
        {"NodeShutdown", "NodeShutdown"}, {"DeadlineExceeded", "PodDeadlineExceeded"},
    };
    static const struct translation of_container[] = {
        {"OOMKilled", "OOMKilled"},
        {"StartError", "ContainerCannotStart"},
        {"ContainerCannotRun", "ContainerCannotStart"},
    };
    const char *known = own ? translate(of_pod, COUNT_OF(of_pod), own) : NULL;

    if (known)
        return known;
    if (own && !has_statuses) /* UnexpectedAdmissionError, OutOfcpu, NodeAffinity, ... */
        return "RejectedByNode";
    if (disruption)
        return disruption;
    if (!container)
        return "PodFailed";
    known = translate(of_container, COUNT_OF(of_container), container);
    return known ? known : "ContainerFailed";
}
