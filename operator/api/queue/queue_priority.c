#include "operator/api/queue/queue_priority.h"

/* Reserved in kubernetes/kubernetes, pkg/apis/scheduling/types.go: SystemPriorityClassPrefix, and values
 * above HighestUserDefinablePriority. */
#define SYSTEM_PREFIX "system-"
#define SYSTEM_VALUE_MIN 1000000000

bool queue_priority_is_of_system(const char *class_name)
{
    return str_has_prefix(class_name, SYSTEM_PREFIX);
}

bool queue_priority_counts(const struct strv *classes, const char *class_name)
{
    if (queue_priority_is_of_system(class_name))
        return false;
    return !classes || strv_has(classes, QUEUE_PRIORITY_ALL) || strv_has(classes, class_name);
}

/* The value of the pod's class; false if it does not count. */
static bool read_value(const struct strv *classes, const cJSON *pod, int32_t *ret)
{
    int64_t value = json_i64(pod, "spec/priority", 0);

    if (!queue_priority_counts(classes, json_str(pod, "spec/priorityClassName", "")) || value < INT32_MIN ||
        value >= SYSTEM_VALUE_MIN)
        return false;
    *ret = (int32_t)value;
    return true;
}

int32_t queue_priority_of_pod(const struct strv *classes, const cJSON *pod)
{
    int32_t value;

    return read_value(classes, pod, &value) ? value : 0;
}

bool queue_priority_preempts(const struct strv *classes, const cJSON *pod)
{
    int32_t value;

    return *json_str(pod, "spec/priorityClassName", "") && read_value(classes, pod, &value) &&
           !str_eq(json_str(pod, "spec/preemptionPolicy", ""), "Never");
}
