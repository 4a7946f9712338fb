/* Wraps job_decide (--wrap at link time): each plan is checked against those before it, and some views are
 * decided twice, because the same view must give the same plan. Borrowed objects must stay unchanged. In
 * every third world jobs are reconciled again without a reason, right after the requests of a plan have
 * completed. */
#include "base/core/fnv.h"
#include "checks/invariants.h"
#include "operator/reconcile/decide/decide.h"
#include "operator/reconcile/state/schedule.h"
#include "checks/queue_order.h"
#include "checks/records.h"

/* All would cost a fifth of the run. */
#define TWICE_EACH 8
#define AGAIN_PERMILLE 300

void __real_job_decide(const struct job_view *view, struct plan *plan);
void __wrap_job_decide(const struct job_view *view, struct plan *plan);

static uint64_t add_bytes(uint64_t sum, const void *bytes, size_t size)
{
    return fnv64_add_bytes(sum, bytes, bytes ? size : 0);
}

/* Another one when anything of it was changed in place. */
static uint64_t sum_of_lent(const struct job_view *view)
{
    uint64_t sum = add_bytes(1, view->job, sizeof(*view->job));

    for (size_t i = 0; i < view->live_count; i++) {
        const struct instance_view *inst = &view->live[i];

        sum = add_bytes(sum, inst->record, sizeof(*inst->record));
        for (uint32_t w = 0; w < job_pods_per_instance(&view->job->spec); w++)
            sum = add_bytes(sum, inst->workers[w].pod, sizeof(*inst->workers[w].pod));
        for (size_t k = 0; k < inst->stale_count; k++)
            sum = add_bytes(sum, inst->stale_pods[k], sizeof(*inst->stale_pods[k]));
    }
    for (size_t i = 0; i < view->tombstone_count; i++)
        sum = add_bytes(sum, view->tombstones[i].record, sizeof(*view->tombstones[i].record));
    for (size_t i = 0; i < view->extra_count; i++)
        sum = add_bytes(sum, view->extra_pods[i], sizeof(*view->extra_pods[i]));
    return sum;
}

void __wrap_job_decide(const struct job_view *view, struct plan *plan)
{
    struct world *world = net->ctx;
    uint64_t lent = sum_of_lent(view);
    AUTO(plan) struct plan again = {0};

    __real_job_decide(view, plan);
    if (sum_of_lent(view) != lent)
        world_break(world, UNCHANGED, "job %s", view->name);
    if (dice_permille(net->fault_rates.stopped))
        world_stop(world, clock_host());
    progress_decided(world, view, plan);
    records_judged(world, view);
    if (view->job)
        queue_order_note_plan(world, view->name, plan);
    if (world->progress.decisions++ % TWICE_EACH)
        return;
    __real_job_decide(view, &again);
    progress_decided_twice(world, view, plan, &again);
}

void __real_reconciler_execution_done(struct reconciler *r, const char *key, bool failed,
                                      int64_t again_at_ms);
void __wrap_reconciler_execution_done(struct reconciler *r, const char *key, bool failed,
                                      int64_t again_at_ms);

void __wrap_reconciler_execution_done(struct reconciler *r, const char *key, bool failed, int64_t again_at_ms)
{
    const struct world *world = net->ctx;

    __real_reconciler_execution_done(r, key, failed, again_at_ms);
    if (world->options.seed % 3 == 0 && dice_permille(AGAIN_PERMILLE))
        reconciler_enqueue(r, key);
}
