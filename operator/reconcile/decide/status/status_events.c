#include "operator/reconcile/decide/status/status_events.h"

#include "base/core/mem.h"
#include "operator/api/reasons.h"

static bool has_event(const struct plan *plan, const char *reason)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->ops[i].kind == OP_EVENT && str_eq(plan->ops[i].reason, reason))
            return true;
    }
    return false;
}

static void add_state_event(const cJSON *before, const struct job_verdict *v, struct plan *plan)
{
    bool same_state = str_eq(json_str(before, "launcherStatus", ""), job_state_name(v->state));
    bool same_reason = str_eq(json_str(before, "reason", ""), v->reason);
    /* Its pod's end was told, and now it is the job's. */
    bool same_words = same_reason && str_eq(json_str(before, "lastMessage", ""), v->message);
    bool warning = v->state == JOB_FAILED || v->state == JOB_RESTARTING || reason_is_warning(v->reason);

    /* Steps on the way up follow each other too quickly to be told one by one; that it runs is told. */
    if ((same_state && same_reason) || same_words || (v->state == JOB_STARTING && !warning))
        return;
    if (!has_event(plan, v->reason)) /* a failure has just been told in more words */
        plan_event(plan, v->reason, v->message, warning);
}

/* Each failure that stays in status, once, with its node and last lines. */
static void add_failure_events(const cJSON *before, const cJSON *after, const struct job_verdict *v,
                               struct plan *plan)
{
    int64_t start_s = status_start_s(before);

    for (size_t i = 0; i < v->failure_count; i++) {
        const struct failure *failure = &v->failures[i];

        if (failures_tell(json_at(before, "failure"), failure, start_s) ||
            !failures_tell(json_at(after, "failure"), failure, start_s))
            continue;
        AUTO(mem) char *story = failure_story(failure);

        plan_event(plan, failure->reason, story, true);
    }
}

void status_events_add(const cJSON *before, const cJSON *after, const struct job_verdict *v,
                       struct plan *plan)
{
    add_failure_events(before, after, v, plan);
    add_state_event(before, v, plan);
}
