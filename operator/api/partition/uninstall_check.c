#include "operator/api/partition/uninstall_check.h"

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

enum uninstall_check uninstall_check_job(const struct job *job, const char *operator_ns)
{
    struct err err = {0};
    AUTO(json) cJSON *status = job_status(job, &err);

    if (!job->has_finalizer || job_is_of_other_operator(job, operator_ns))
        return UNINSTALL_OK;
    if (job->deleting || has_ended(status))
        return UNINSTALL_ENDING;
    if (!job->spec.suspend)
        return UNINSTALL_BLOCKED;
    return is_parked(job, status) ? UNINSTALL_SUSPENDED : UNINSTALL_ENDING;
}

/* Its finalizer is removed when it has no partition; a record of a failed attempt reserves its id as long as
 * the job exists. */
static bool only_keeps_id(const struct record *record, const struct job *job)
{
    struct err err = {0};
    AUTO(json) cJSON *status = job_status(job, &err);

    return record->releasing && job->spec.suspend && is_parked(job, status);
}

enum uninstall_check uninstall_check_record(const struct record *record, const struct job *job,
                                            const char *operator_ns)
{
    if (record->spent_s)
        return UNINSTALL_OK;
    if (!job || !str_eq(record->job_uid, job->uid) || job_is_of_other_operator(job, operator_ns))
        return UNINSTALL_ENDING;
    if (job->has_finalizer || only_keeps_id(record, job))
        return UNINSTALL_OK;
    /* A job of this operator is without its finalizer only for a moment, or while one watch is ahead of the
     * other. */
    return job->is_vendors && !job->deleting && !record->releasing ? UNINSTALL_BLOCKED : UNINSTALL_ENDING;
}

char *uninstall_describe_job(const struct job *job)
{
    struct err err = {0};
    AUTO(json) cJSON *status = job_status(job, &err);

    return mem_printf("%s (%s)", job->key, json_str(status, "launcherStatus", "Pending"));
}

char *uninstall_describe_record(const struct record *record)
{
    return record_is_ownerless(record) ? mem_strdup(record->name)
                                       : mem_printf("%s (%s)", record->name, record->job_key);
}
