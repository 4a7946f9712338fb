#include "operator/reconcile/decide/model/verdict.h"

#include "base/core/mem.h"
#include "base/text/timefmt.h"

const char *job_state_name(enum job_state state)
{
    static const char *const names[] = {
        [JOB_PENDING] = "Pending",       [JOB_STARTING] = "Starting",       [JOB_RUNNING] = "Running",
        [JOB_RESTARTING] = "Restarting", [JOB_SUSPENDED] = "Suspended",     [JOB_COMPLETED] = "Completed",
        [JOB_FAILED] = "Failed",         [JOB_TERMINATING] = "Terminating",
    };

    return names[state];
}

int64_t status_start_s(const cJSON *status)
{
    int64_t at = 0;

    timefmt_parse_rfc3339(json_str(status, "startTime", ""), &at);
    return at;
}

bool verdict_has_ended(const struct job_verdict *v)
{
    return v->state == JOB_COMPLETED || v->state == JOB_FAILED;
}

void verdict_add_failure(struct job_verdict *v, const struct failure *failure)
{
    v->failures = mem_grow(v->failures, v->failure_count + 1, sizeof(*v->failures));
    v->failures[v->failure_count++] = *failure;
}

void verdict_read_ended(const cJSON *status, struct job_verdict *v)
{
    /* Operators before wrote the other names, and a status is renamed only by the next write of it. */
    indexset_parse(&v->done,
                   json_str(status, "completedIndexes", json_str(status, "completedInstances", "")));
    indexset_parse(&v->broken, json_str(status, "failedIndexes", json_str(status, "failedInstances", "")));
    v->restarts = (uint32_t)json_i64(status, "restartCount", 0);
    v->preemptions = (uint32_t)json_i64(status, "preemptionCount", 0);
}

bool verdict_note_rejected_write(const struct job_view *view, const struct plan *plan, struct job_verdict *v)
{
    char *before = v->message;

    if (!view->write_rejected || !before || verdict_has_ended(v) || !plan_has(plan, view->write_rejected_op))
        return false;
    v->reason = "WriteRejected";
    v->message = mem_printf("%s; %s", before, view->write_rejected);
    mem_free(before);
    if (!v->stuck_at && (v->state == JOB_PENDING || v->state == JOB_STARTING))
        v->stuck_at = mem_strdup(v->message);
    return true;
}

void verdict_release(struct job_verdict *v)
{
    mem_free(v->failures);
    mem_free(v->message);
    mem_free(v->stuck_at);
    indexset_release(&v->done);
    indexset_release(&v->broken);
    *v = (struct job_verdict){0};
}
