/* Stands between the reconciler and job_decide (--wrap at link time): each view that a run comes to is
 * decided twice, and the same view must give the same plan; then the plan is judged by those before it. */
#include "invariants.h"
#include "operator/reconcile/decide.h"

void __real_job_decide(const struct job_view *view, struct plan *plan);
void __wrap_job_decide(const struct job_view *view, struct plan *plan);

void __wrap_job_decide(const struct job_view *view, struct plan *plan)
{
    AUTO(plan) struct plan again = {0};

    __real_job_decide(view, plan);
    __real_job_decide(view, &again);
    progress_decided(net->ctx, view, plan, &again);
}
