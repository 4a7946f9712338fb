#include "operator/reconcile/decide/status/status_events.h"

#include "base/core/mem.h"
#include "operator/api/reasons.h"
#include "operator/reconcile/decide/run/hold.h"

static bool has_event(const struct plan *plan, const char *reason)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->ops[i].kind == OP_EVENT && str_eq(plan->ops[i].reason, reason))
            return true;
    }
    return false;
}

/* Nothing has started since Running was reported: an instance ended, or a write was rejected for a while. */
static bool runs_on(const cJSON *before, const struct job_verdict *v)
{
    const struct reason *reason = reason_find(json_str(before, "reason", ""));

    return str_eq(v->reason, "Running") && str_eq(json_str(before, "launcherStatus", ""), "Running") &&
           reason &&
           (reason->kind == REASON_FAILURE || str_eq(reason->name, "Finishing") ||
            str_eq(reason->name, "WriteRejected"));
}

static void add_state_event(const cJSON *before, const struct job_verdict *v, struct plan *plan)
{
    bool same_state = str_eq(json_str(before, "launcherStatus", ""), job_state_name(v->state));
    bool same_reason = str_eq(json_str(before, "reason", ""), v->reason);
    /* The end of the pod has been reported, and is now the end of the job. */
    bool same_words = same_reason && str_eq(json_str(before, "lastMessage", ""), v->message);
    bool warning = v->state == JOB_FAILED || v->state == JOB_RESTARTING || reason_is_warning(v->reason);

    /* Starting steps follow each other too quickly to be reported one by one; Running is reported. */
    if ((same_state && same_reason) || same_words || runs_on(before, v) ||
        (v->state == JOB_STARTING && !warning))
        return;
    if (!has_event(plan, v->reason)) /* the failure has just been reported in more detail */
        plan_event(plan, v->reason, v->message, warning);
}

/* Each failure that stays in the status, once, with its node and last lines of the log. */
static void add_failure_events(const cJSON *before, const cJSON *after, const struct job_verdict *v,
                               struct plan *plan)
{
    int64_t start_s = status_start_s(before);

    for (size_t i = 0; i < v->failure_count; i++) {
        const struct failure *failure = &v->failures[i];

        if (failures_include(json_at(before, "failures"), failure, start_s) ||
            !failures_include(json_at(after, "failures"), failure, start_s))
            continue;
        AUTO(mem) char *story = failure_details(failure);

        plan_event(plan, failure->reason, story, true);
    }
}

static bool is_held(const cJSON *status, const char *partition)
{
    JSON_EACH (item, json_at(status, "partitions")) {
        if (str_eq(json_str(item, "id", ""), partition))
            return str_eq(json_str(item, "state", ""), "Held");
    }
    return false;
}

/* Once for each partition that the status shows. */
static void add_hold_event(const struct job_view *view, const cJSON *before, const cJSON *after,
                           struct plan *plan)
{
    AUTO(mem) char *hold = hold_describe(view, plan);

    for (size_t i = 0; i < plan->held.count; i++) {
        if (is_held(before, plan->held.items[i]) || !is_held(after, plan->held.items[i]))
            continue;
        hold[0] = 'H'; /* a sentence of its own */
        plan_event(plan, "TerminationUnconfirmed", hold, true);
        return;
    }
}

void status_events_add(const struct job_view *view, const cJSON *before, const cJSON *after,
                       const struct job_verdict *v, struct plan *plan)
{
    add_failure_events(before, after, v, plan);
    add_hold_event(view, before, after, plan);
    add_state_event(before, v, plan);
}
