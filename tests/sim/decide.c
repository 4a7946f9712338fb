/* Stands between the reconciler and job_decide (--wrap at link time): each plan is judged by those before it,
 * and some views are decided twice, for the same view must give the same plan. */
#include "invariants.h"
#include "operator/reconcile/decide.h"

/* All would cost a fifth of the run. */
#define TWICE_EACH 8

void __real_job_decide(const struct job_view *view, struct plan *plan);
void __wrap_job_decide(const struct job_view *view, struct plan *plan);

void __wrap_job_decide(const struct job_view *view, struct plan *plan)
{
    struct world *world = net->ctx;
    AUTO(plan) struct plan again = {0};

    __real_job_decide(view, plan);
    progress_decided(world, view, plan);
    if (world->progress.decisions++ % TWICE_EACH)
        return;
    __real_job_decide(view, &again);
    progress_decided_twice(world, view, plan, &again);
}
