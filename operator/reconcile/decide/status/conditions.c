#include "operator/reconcile/decide/status/conditions.h"

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "operator/api/job/job_finished.h"

enum holds { NO, YES, UNKNOWN, ABSENT };

struct condition {
    const char *type;
    enum holds holds;
    const char *reason;
    const char *message;
};

static void put_condition(cJSON *conditions, const cJSON *before, const struct condition *want,
                          const struct job_view *view)
{
    const cJSON *old = status_condition(before, want->type);
    static const char *const names[] = {[NO] = "False", [YES] = "True", [UNKNOWN] = "Unknown"};
    const char *status = names[want->holds];
    bool same_status = str_eq(json_str(old, "status", ""), status);
    bool same = same_status && str_eq(json_str(old, "reason", ""), want->reason) &&
                str_eq(json_str(old, "message", ""), want->message);
    cJSON *condition = json_push_take(conditions, json_object());
    char now[TIMEFMT_RFC3339_SIZE];

    timefmt_rfc3339(view->now_unix_s, now);
    json_put_str(condition, "type", want->type);
    json_put_str(condition, "status", status);
    json_put_str(condition, "reason", want->reason);
    json_put_str(condition, "message", want->message);
    json_put_i64(condition, "observedGeneration", view->job->generation);
    json_put_str(condition, "lastTransitionTime",
                 same_status ? json_str(old, "lastTransitionTime", now) : now);
    json_put_str(condition, "lastUpdateTime", same ? json_str(old, "lastUpdateTime", now) : now);
}

static struct condition partitions_ready(const struct job_verdict *v, const char *why, const char *text)
{
    if (verdict_has_ended(v) || !v->all_partitions)
        return (struct condition){"PartitionsReady", NO, why, text};
    if (v->has_unresponsive_controller)
        return (struct condition){"PartitionsReady", UNKNOWN, "ControllerUnavailable",
                                  "A V-IPU controller is not responding; running instances are not affected"};
    return (struct condition){"PartitionsReady", YES, "PartitionsActive", "All partitions are active"};
}

/* No waiting helps: a user or an admin has to act. */
static bool is_stalled(const struct job_verdict *v)
{
    return v->state == JOB_FAILED || str_eq(v->reason, "ExceedsCapacity");
}

/* Nothing that was asked for is outstanding: also of a job that is to have no instances. */
static bool is_ready(const struct job_verdict *v)
{
    return v->state == JOB_COMPLETED || v->state == JOB_SUSPENDED ||
           (v->state == JOB_RUNNING && v->all_pods) || str_eq(v->reason, "ScaledToZero");
}

void conditions_put(cJSON *status, const cJSON *before, const struct job_verdict *v,
                    const struct job_view *view)
{
    cJSON *conditions = json_put_array(status, "conditions");
    bool ended = verdict_has_ended(v), running = v->all_pods, ready = is_ready(v), stalled = is_stalled(v);
    const char *why = ended ? "JobFinished" : v->reason;
    const char *text = ended ? "The job has finished" : v->message;
    const char *result = v->state == JOB_FAILED ? "Failed" : "Completed";
    const struct condition rows[] = {
        partitions_ready(v, why, text),
        {"PodsReady", running ? YES : NO, running ? "PodsRunning" : why,
         running ? "All pods are running and ready" : text},
        {"Running", v->running > 0 ? YES : NO, v->running > 0 ? "InstancesRunning" : why,
         v->running > 0 ? "At least one instance is running" : text},
        {"Completed", v->state == JOB_COMPLETED ? YES : NO,
         v->state == JOB_COMPLETED ? "Completed" : "NotCompleted",
         v->state == JOB_COMPLETED ? v->message : ""},
        {"Failed", v->state == JOB_FAILED ? YES : NO, v->state == JOB_FAILED ? v->reason : "NotFailed",
         v->state == JOB_FAILED ? v->message : ""},
        {"Suspended", v->state == JOB_SUSPENDED ? YES : NO,
         v->state == JOB_SUSPENDED ? "Suspended" : "NotSuspended",
         v->state == JOB_SUSPENDED ? v->message : ""},
        {"Finished", ended ? YES : NO, ended ? result : "NotFinished", ended ? v->message : ""},
        {"Ready", ready ? YES : NO, v->reason, v->message},
        /* Only while they hold: kstatus reads any other value of an abnormal condition as this one does. */
        {"Reconciling", ready || stalled ? ABSENT : YES, v->reason, v->message},
        {"Stalled", stalled ? YES : ABSENT, v->reason, v->message},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].holds != ABSENT)
            put_condition(conditions, before, &rows[i], view);
}
