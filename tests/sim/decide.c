/* Stands between the reconciler and job_decide (--wrap at link time): each view that a run comes to is
 * decided twice, and the same view must give the same plan. */
#include "invariants.h"
#include "operator/reconcile/decide.h"

void __real_job_decide(const struct job_view *view, struct plan *plan);
void __wrap_job_decide(const struct job_view *view, struct plan *plan);

void __wrap_job_decide(const struct job_view *view, struct plan *plan)
{
    AUTO(plan) struct plan again = {0};
    AUTO(str) struct str first = {0};
    AUTO(str) struct str second = {0};

    __real_job_decide(view, plan);
    __real_job_decide(view, &again);
    plan_print(plan, &first);
    plan_print(&again, &second);
    invariants_decided(net->ctx, view->name, str_text(&first), str_text(&second));
}
