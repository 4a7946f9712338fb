#include "operator/reconcile/state/schedule.h"

void reconciler_wake(struct reconciler *r)
{
    int64_t now = loop_now_ms(r->loop);
    int64_t due = workqueue_due_ms(r->queue, now);

    if (r->aborted)
        return;
    if (r->claims_changed && (due < 0 || r->claims_due_ms < due))
        due = r->claims_due_ms > now ? r->claims_due_ms : 0;
    if (due == 0)
        loop_timer_start(r->loop, &r->due, 0, r->on_due);
    else if (due > 0)
        loop_timer_start(r->loop, &r->due, due > now ? due - now : 0, r->on_due);
}

void reconciler_enqueue(struct reconciler *r, const char *key)
{
    workqueue_add(r->queue, key);
    reconciler_wake(r);
}

void reconciler_claims_changed(struct reconciler *r)
{
    r->claims_changed = true;
    reconciler_wake(r);
}

void reconciler_execution_done(struct reconciler *r, const char *key, bool failed, int64_t again_at_ms)
{
    if (failed) {
        r->counters.failures++;
        workqueue_add_rate_limited(r->queue, key, loop_now_ms(r->loop), loop_random_u32());
    } else {
        workqueue_forget(r->queue, key);
    }
    if (again_at_ms)
        workqueue_add_after(r->queue, key, again_at_ms);
    workqueue_done(r->queue, key);
    reconciler_wake(r);
}
