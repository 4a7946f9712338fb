#include "operator/reconcile/decide/lifetime.h"

#include "base/core/mem.h"
#include "base/text/timefmt.h"

#define RELEASE_S 60 /* for the stop of pods, the removal of the partition, and the lists that show it */

/* Is the limit over, counted from `since`, a time in the status? Without that time the clock starts now. */
static bool has_passed(const struct job_view *view, const cJSON *status, const char *since, uint32_t limit_s,
                       struct plan *plan)
{
    int64_t from_s = view->now_unix_s, left_s;

    timefmt_parse_rfc3339(json_str(status, since, ""), &from_s);
    left_s = from_s + limit_s - view->now_unix_s;
    if (left_s > 0)
        plan_again_at(plan, view->now_ms + left_s * 1000);
    return left_s <= 0;
}

static void end(struct job_verdict *v, enum job_state state, const char *reason, char *message_take)
{
    mem_free(v->message);
    v->state = state;
    v->reason = reason;
    v->message = message_take;
    v->running = v->active = 0;
    v->all_pods = false;
}

/* An instance that has not ended ends with the job. */
static void close_rest(const struct job_view *view, struct job_verdict *v, struct indexset *into)
{
    AUTO(indexset) struct indexset rest = {0};

    indexset_add_range(&rest, 0, (uint32_t)view->instance_count);
    indexset_remove_all(&rest, &v->done);
    indexset_remove_all(&rest, &v->broken);
    indexset_add_all(into, &rest);
}

uint32_t lifetime_outgrown_s(const struct job_view *view)
{
    uint32_t limit_s = job_limit_s(&view->job->spec), kept_s = 0;

    for (size_t i = 0; i < view->live_count; i++) {
        const struct record *record = view->live[i].record;

        if (record && record->limit_s && (!kept_s || record->limit_s < kept_s))
            kept_s = record->limit_s;
    }
    return !limit_s || kept_s < limit_s ? kept_s : 0;
}

static bool end_at_limit(const struct job_view *view, const cJSON *status, struct job_verdict *v,
                         struct plan *plan)
{
    const struct job_spec *spec = &view->job->spec;
    bool has_started = v->has_started || json_at(status, "startTime");
    uint32_t outgrown_s = lifetime_outgrown_s(view);

    if (outgrown_s && has_started && has_passed(view, status, "startTime", outgrown_s, plan)) {
        end(v, JOB_FAILED, "DeadlineExceeded",
            mem_printf("Stopped after %u s: the job got its IPUs for that time, and its limit was raised "
                       "afterwards; suspend a job before you raise its limit",
                       outgrown_s));
        return true;
    }
    if (spec->interactive_ttl_s && has_started &&
        has_passed(view, status, "startTime", spec->interactive_ttl_s, plan)) {
        end(v, JOB_COMPLETED, "InteractiveTTLExpired", mem_strdup(ALL_INSTANCES_DONE));
        return true;
    }
    if (spec->active_deadline_s && has_started &&
        has_passed(view, status, "startTime", spec->active_deadline_s, plan)) {
        end(v, JOB_FAILED, "DeadlineExceeded",
            mem_printf("Stopped after %u s: spec.activeDeadlineSeconds exceeded", spec->active_deadline_s));
        return true;
    }
    if (spec->start_deadline_s && v->stuck_at &&
        has_passed(view, status, "stuckSince", spec->start_deadline_s, plan)) {
        end(v, JOB_FAILED, "StartDeadlineExceeded",
            mem_printf("Pods did not start within %u s (spec.startDeadlineSeconds): %s",
                       spec->start_deadline_s, v->stuck_at));
        return true;
    }
    return false;
}

bool lifetime_limit(const struct job_view *view, const cJSON *status, struct job_verdict *v,
                    struct plan *plan)
{
    if (v->state == JOB_COMPLETED || v->state == JOB_FAILED || !end_at_limit(view, status, v, plan))
        return false;
    close_rest(view, v, v->state == JOB_COMPLETED ? &v->done : &v->broken);
    plan_release(plan);
    return true;
}

int64_t lifetime_release_s(uint32_t grace_s)
{
    return (int64_t)grace_s + RELEASE_S;
}

int64_t lifetime_bound_s(uint32_t limit_s, uint32_t grace_s)
{
    return limit_s ? limit_s + lifetime_release_s(grace_s) : 0;
}

bool lifetime_is_expired(const struct job_view *view, const cJSON *status, struct plan *plan)
{
    uint32_t ttl_s = view->job->spec.ttl_after_finished_s;

    return ttl_s != JOB_NO_TTL && has_passed(view, status, "completionTime", ttl_s, plan);
}
