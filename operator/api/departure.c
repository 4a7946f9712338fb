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

/* Its finalizer goes when nothing is held any more; a record of an attempt that ended badly keeps its id from
 * use as long as the job is there. */
static bool only_keeps_id(const struct record *record, const struct job *job)
{
    struct err err = {0};
    AUTO(json) cJSON *status = job_status(job, &err);

    return record->releasing && job->spec.suspend && is_parked(job, status);
}

enum departure departure_of_record(const struct record *record, const struct job *job)
{
    if (record->spent_s)
        return DEPARTURE_FREE;
    if (!job || !str_eq(record->job_uid, job->uid))
        return DEPARTURE_ENDING;
    if (job->has_finalizer || only_keeps_id(record, job))
        return DEPARTURE_FREE;
    /* A job of this operator is without its finalizer for a moment at most, or as one watch is ahead of the
     * other. */
    return job->is_vendors && !job->deleting && !record->releasing ? DEPARTURE_LIVE : DEPARTURE_ENDING;
}

char *departure_describe(const struct job *job)
{
    struct err err = {0};
    AUTO(json) cJSON *status = job_status(job, &err);

    return mem_printf("%s (%s)", job->key, json_str(status, "launcherStatus", "Pending"));
}

char *departure_describe_record(const struct record *record)
{
    return record_is_of_nobody(record) ? mem_strdup(record->name)
                                       : mem_printf("%s (%s)", record->name, record->job_key);
}
