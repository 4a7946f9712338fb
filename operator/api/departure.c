#include "operator/api/departure.h"

#include "base/core/mem.h"

static bool is_parked(const struct job *job, const cJSON *status)
{
    return str_eq(json_str(status, "launcherStatus", ""), "Suspended") &&
           json_i64(status, "observedGeneration", 0) == job->generation &&
           json_i64(status, "partitionCounts/total", 1) == 0;
}

static bool has_ended(const cJSON *status)
{
    return json_str(status, "completionTime", NULL) != NULL;
}

enum departure departure_of(const struct job *job)
{
    struct err err = {0};
    AUTO(json) cJSON *status = job_status(job, &err);

    if (!job->has_finalizer)
        return DEPARTURE_FREE;
    if (job->deleting || has_ended(status))
        return DEPARTURE_ENDING;
    if (!job->spec.suspend)
        return DEPARTURE_LIVE;
    return is_parked(job, status) ? DEPARTURE_PARKED : DEPARTURE_ENDING;
}

char *departure_describe(const struct job *job)
{
    struct err err = {0};
    AUTO(json) cJSON *status = job_status(job, &err);

    return mem_printf("%s (%s)", job->key, json_str(status, "launcherStatus", "Pending"));
}
