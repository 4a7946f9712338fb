#include "operator/api/job/job_finished.h"

#include "base/core/mem.h"

const cJSON *status_condition(const cJSON *status, const char *type)
{
    JSON_EACH (condition, json_at(status, "conditions")) {
        if (str_eq(json_str(condition, "type", ""), type))
            return condition;
    }
    return NULL;
}

static bool is_true(const cJSON *status, const char *type)
{
    return str_eq(json_str(status_condition(status, type), "status", ""), "True");
}

bool status_is_finished(const cJSON *status)
{
    return is_true(status, "Completed") || is_true(status, "Failed");
}

bool status_is_rejection(const cJSON *status)
{
    static const char *const correctable[] = {"InvalidSpec", "InvalidPodTemplate", "PartitionRejected"};
    const char *reason = json_str(status_condition(status, "Failed"), "reason", "");

    if (!is_true(status, "Failed"))
        return false;
    for (size_t i = 0; i < COUNT_OF(correctable); i++) {
        if (str_eq(reason, correctable[i]))
            return true;
    }
    return false;
}

bool status_is_outdated_rejection(const cJSON *status, int64_t generation)
{
    const cJSON *failed = status_condition(status, "Failed");

    return status_is_rejection(status) && (str_eq(json_str(failed, "reason", ""), "InvalidSpec") ||
                                           json_i64(failed, "observedGeneration", 0) != generation);
}
