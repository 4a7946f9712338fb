#include "checks/progress.h"

#include "base/core/mem.h"
#include "checks/invariants.h"
#include "lib/ops.h"

/* From a new job to one that waits for its pods: finalizer, dry run, claim, record, partition, what surrounds
 * the pods, pods, status. A job that is resumed also deletes the pods that were kept. */
#define IN_A_ROW_MAX 7

struct last {
    struct strv ops;
    uint64_t news;
    int64_t again_at_ms;
    unsigned in_a_row; /* plans with something to do, and no news between them */
};

void progress_release(struct progress *progress)
{
    void *value;

    for (size_t i = 0; map_next(&progress->last, &i, NULL, &value);) {
        struct last *last = value;

        strv_release(&last->ops);
        mem_free(last);
    }
    map_release(&progress->last);
}

static struct last *last_of(struct progress *progress, const struct job_view *view)
{
    AUTO(mem) char *key = mem_printf("%s %s", clock_host()->name, view->job->uid);
    struct last *last = map_get(&progress->last, key);

    if (!last) {
        last = NEW(struct last);
        map_set(&progress->last, key, last);
    }
    return last;
}

void progress_decided_twice(struct world *world, const struct job_view *view, const struct plan *plan,
                            const struct plan *again)
{
    const char *job = view->job ? view->name : "that has gone";
    AUTO(strv) struct strv ops = {0};
    AUTO(strv) struct strv others = {0};

    plan_describe(plan, &ops);
    plan_describe(again, &others);
    if (ops.count != others.count)
        world_break(world, NOTHING_AGAIN, "job %s: the same view gives %zu ops, and then %zu", job, ops.count,
                    others.count);
    for (size_t i = 0; i < ops.count && i < others.count; i++) {
        if (!str_eq(ops.items[i], others.items[i]))
            world_break(world, NOTHING_AGAIN, "job %s: the same view gives first %s, then %s", job,
                        ops.items[i], others.items[i]);
    }
}

static void check_step(struct world *world, const char *job, struct last *last, const struct strv *ops)
{
    bool is_time = last->again_at_ms && clock_now_ms() >= last->again_at_ms;
    bool has_news = is_time || last->news != world->net.news;

    last->in_a_row = ops->count == 0 ? 0 : has_news ? 1 : last->in_a_row + 1;
    for (size_t i = 0; i < ops->count && !has_news; i++) {
        if (strv_has(&last->ops, ops->items[i]))
            world_break(world, NOTHING_AGAIN, "job %s: planned again, and nothing has happened since: %s",
                        job, ops->items[i]);
    }
    if (last->in_a_row > IN_A_ROW_MAX)
        world_break(world, NOTHING_AGAIN, "job %s: the %u. plan in a row, and nothing has happened: %s", job,
                    last->in_a_row, ops->items[0]);
}

void progress_decided(struct world *world, const struct job_view *view, const struct plan *plan)
{
    struct strv ops = {0};
    struct last *last;

    if (!view->job)
        return;
    plan_describe(plan, &ops);
    last = last_of(&world->progress, view);
    check_step(world, view->name, last, &ops);
    strv_release(&last->ops);
    last->ops = ops;
    last->news = world->net.news;
    last->again_at_ms = plan->again_at_ms;
}
