#include "operator/reconcile/decide/instance/instance_restart.h"

#include "operator/reconcile/decide/run/run.h"

/* A restart is delayed by 10 s after the first failure, twice as long after each further one, at most by 5
 * min. */
#define RESTART_FIRST_S 10
#define RESTART_MAX_S 300

/* failure NULL: it succeeded. */
bool wants_restart(const struct job_spec *spec, const struct record *record, const struct failure *failure)
{
    if (record->restarts >= spec->backoff_limit)
        return false;
    return failure ? failure_calls_for_restart(spec, failure) : spec->restart == RESTART_ALWAYS;
}

static int64_t restart_delay_s(uint32_t restarts)
{
    int64_t delay = RESTART_FIRST_S;

    while (restarts-- && delay < RESTART_MAX_S)
        delay *= 2;
    return delay < RESTART_MAX_S ? delay : RESTART_MAX_S;
}

void decide_restart(const struct job_view *view, const struct instance_view *inst, struct pod_summary *pods,
                    int64_t ended_s, struct plan *plan, struct instance_result *ret)
{
    int64_t wait_s = ended_s + restart_delay_s(inst->record->restarts) - view->now_unix_s;

    instance_set_result(ret, INSTANCE_RESTARTING, "Restarting", "Restarting instance %u (restart %u of %u)",
                        inst->index, inst->record->restarts + 1, view->job->spec.backoff_limit);
    run_stop_pods(view, inst, plan);
    if (!run_is_over(view, inst, pods, plan))
        return;
    ret->failure.pods = inst->workers;
    ret->failure.pod_count = job_pods_per_instance(&view->job->spec);
    if (wait_s > 0 && wait_s <= RESTART_MAX_S)
        plan_again_at(plan, view->now_ms + wait_s * 1000);
    else
        run_begin_next(inst, pods, plan);
}
