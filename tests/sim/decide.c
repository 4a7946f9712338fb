/* Stands between the reconciler and job_decide (--wrap at link time): each plan is judged by those before it,
 * and some views are decided twice, for the same view must give the same plan. In every third world jobs are
 * looked at again for no reason, right after the requests of a plan have been answered. */
#include "invariants.h"
#include "operator/reconcile/decide.h"
#include "operator/reconcile/state.h"
#include "records.h"

/* All would cost a fifth of the run. */
#define TWICE_EACH 8
#define AGAIN_PERMILLE 300

void __real_job_decide(const struct job_view *view, struct plan *plan);
void __wrap_job_decide(const struct job_view *view, struct plan *plan);

void __wrap_job_decide(const struct job_view *view, struct plan *plan)
{
    struct world *world = net->ctx;
    AUTO(plan) struct plan again = {0};

    __real_job_decide(view, plan);
    if (dice_permille(net->weather.stopped))
        world_stop(world, clock_host());
    progress_decided(world, view, plan);
    records_judged(world, view);
    if (world->progress.decisions++ % TWICE_EACH)
        return;
    __real_job_decide(view, &again);
    progress_decided_twice(world, view, plan, &again);
}

void __real_reconciler_work_done(struct reconciler *r, const char *key, bool failed, int64_t again_at_ms);
void __wrap_reconciler_work_done(struct reconciler *r, const char *key, bool failed, int64_t again_at_ms);

void __wrap_reconciler_work_done(struct reconciler *r, const char *key, bool failed, int64_t again_at_ms)
{
    const struct world *world = net->ctx;

    __real_reconciler_work_done(r, key, failed, again_at_ms);
    if (world->options.seed % 3 == 0 && dice_permille(AGAIN_PERMILLE))
        reconciler_enqueue(r, key);
}
