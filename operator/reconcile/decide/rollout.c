#include "operator/reconcile/decide/rollout.h"

static bool is_outdated(const struct job_view *view, const struct instance_view *inst)
{
    for (uint32_t w = 0; w < view->job->spec.workers_per_instance; w++) {
        uint64_t revision = inst->workers[w].revision;

        if (revision && revision != view->job->revision)
            return true;
    }
    return false;
}

static bool is_updated(const struct job_view *view, const struct instance_view *inst)
{
    for (uint32_t w = 0; w < view->job->spec.workers_per_instance; w++) {
        const struct worker_view *worker = &inst->workers[w];

        if (worker->state != WORKER_PRESENT || worker->pod->deleting ||
            worker->revision != view->job->revision)
            return false;
    }
    return true;
}

static bool is_up(const struct job_view *view, const struct instance_view *inst)
{
    for (uint32_t w = 0; w < view->job->spec.workers_per_instance; w++) {
        const struct worker_view *worker = &inst->workers[w];

        if (worker->state != WORKER_PRESENT || worker->pod->phase != POD_RUNNING ||
            pod_is_ending(worker->pod))
            return false;
    }
    return true;
}

static bool is_quiet(const struct job_view *view, const struct instance_view *inst)
{
    for (uint32_t w = 0; w < view->job->spec.workers_per_instance; w++) {
        const struct worker_view *worker = &inst->workers[w];

        if (worker->state == WORKER_PRESENT && !pod_has_stopped(worker->pod, false, worker->node_fenced))
            return false;
    }
    return true;
}

/* What exists before anything is decided. */
struct counts {
    uint32_t up; /* instances that run, surge instances included */
    bool all_up, all_stopped;
};

static uint32_t count_waiting(const struct job_view *view, const struct indexset *ended)
{
    AUTO(indexset) struct indexset waiting = {0};

    view_add_idle(view, &waiting);
    indexset_remove_all(&waiting, ended);
    return (uint32_t)indexset_count(&waiting);
}

static struct counts count_instances(const struct job_view *view, const struct indexset *ended,
                                     struct rollout *ret)
{
    struct counts counts = {.all_stopped = true};

    ret->wanted = count_waiting(view, ended);
    counts.all_up = ret->wanted == 0;
    for (size_t i = 0; i < view->live_count; i++) {
        const struct instance_view *inst = &view->live[i];
        bool up = is_up(view, inst);

        counts.up += up;
        if (inst->index >= view->instance_count || indexset_has(ended, inst->index))
            continue;
        ret->wanted++;
        ret->updated += is_updated(view, inst);
        counts.all_up = counts.all_up && up;
        if (is_outdated(view, inst)) {
            ret->outdated++;
            counts.all_stopped = counts.all_stopped && is_quiet(view, inst);
        }
    }
    return counts;
}

static uint32_t allowed_down(const struct job_view *view, uint32_t wanted)
{
    const struct job_spec *spec = &view->job->spec;
    uint32_t down = int_or_percent_of(&spec->max_unavailable, wanted, false);

    if (spec->strategy == STRATEGY_RECREATE)
        return wanted;
    return down || view->surge_count ? down : 1; /* of few instances both percentages may round to zero */
}

/* Surge instances stay until every instance runs again. */
static uint32_t wanted_surge(const struct job_view *view, const struct counts *counts, uint32_t outdated)
{
    uint32_t wanted = outdated < view->surge_count ? outdated : (uint32_t)view->surge_count;

    for (size_t i = 0; i < view->live_count && (outdated > 0 || !counts->all_up); i++) {
        const struct instance_view *inst = &view->live[i];

        if (inst->record && inst->index >= view->instance_count + wanted)
            wanted = inst->index + 1 - (uint32_t)view->instance_count;
    }
    return wanted;
}

void rollout_decide(const struct job_view *view, const struct indexset *done, const struct indexset *broken,
                    struct rollout *ret)
{
    AUTO(indexset) struct indexset ended = {0};
    struct counts counts;
    int64_t spare;

    *ret = (struct rollout){0};
    indexset_add_all(&ended, done);
    indexset_add_all(&ended, broken);
    counts = count_instances(view, &ended, ret);
    if (view->job->spec.has_launcher) /* its ranks run together or not at all */
        return;
    ret->surge = wanted_surge(view, &counts, ret->outdated);
    ret->may_start = view->job->spec.strategy != STRATEGY_RECREATE || counts.all_stopped;
    spare = (int64_t)counts.up + allowed_down(view, ret->wanted) - ret->wanted;
    for (size_t i = 0; i < view->live_count; i++) {
        const struct instance_view *inst = &view->live[i];
        bool is_beside = inst->index >= view->instance_count;

        if (indexset_has(&ended, inst->index) || !is_outdated(view, inst))
            continue;
        if (!is_beside && is_up(view, inst) && spare-- <= 0)
            continue;
        indexset_add(&ret->replace, inst->index);
    }
}

void rollout_release(struct rollout *rollout)
{
    indexset_release(&rollout->replace);
}
