#include "operator/vipucontroller/controller_starts.h"

#include <time.h>

#include "base/core/mem.h"
#include "base/io/loop.h"
#include "operator/reconcile/reconciler.h"
#include "operator/reconcile/state/reconciler_state.h"
#include "operator/reconcile/what_if.h"
#include "operator/vipucontroller/controller_start.h"

#define SLICE_WORK 1000 /* microseconds of a usual processor */
#define PAUSE_PER_WORK                                                                                       \
    200 /* twice that of the forecasts of jobs, which so get as much of their common share */
#define INTERVAL_MS 60000 /* between the begins of two rounds of one controller, at least */
#define CHECK_MS 1000     /* whether a round is due */

struct sizes {
    struct controller_start items[CONTROLLER_SIZES_MAX];
    size_t count;
};

struct controller_starts {
    struct loop *loop;
    struct reconciler *reconciler;
    struct loop_timer timer;
    size_t controller_count;
    struct sizes *told; /* per controller */
    int64_t *next_ms;   /* per controller: its next round does not begin before */
    /* The round. */
    size_t controller;
    uint32_t total_ipus; /* 0: none is under way */
    struct sizes ahead;
    struct what_if *what_if; /* of the next size without a deadline; NULL: not begun, or complete */
    int64_t bounds[FORECAST_DEPTH_MAX];
    size_t bound_count; /* that are still to be tried for the last size */
    size_t bound_at;
};

/* ---- one size ---- */

static uint32_t next_size(const struct controller_starts *s)
{
    return 1U << s->ahead.count;
}

static void complete(struct controller_starts *s)
{
    const struct forecast_verdict *verdict = what_if_verdict(s->what_if);
    int64_t now_s;
    const struct forecast_plan *plan = what_if_plan(s->what_if, &now_s);

    s->bound_at = s->bound_count = 0;
    if (verdict->cause == FORECAST_RESERVED)
        s->bound_count = controller_start_bounds(plan, (uint32_t)s->controller, now_s, s->bounds);
    controller_start_read(next_size(s), verdict, now_s, &s->ahead.items[s->ahead.count]);
    s->ahead.count++;
    what_if_free(s->what_if);
    s->what_if = NULL;
}

/* Who starts now is known at once. */
static void try_bound(struct controller_starts *s)
{
    struct controller_start *start = &s->ahead.items[s->ahead.count - 1];
    int64_t bound_s = s->bounds[s->bound_at++];
    struct what_if *what_if = what_if_begin_at(s->reconciler, s->controller, start->ipus, bound_s);

    if (what_if_verdict(what_if)->cause == FORECAST_STARTS) {
        start->within_s = controller_start_within(bound_s);
        s->bound_count = 0;
    }
    what_if_free(what_if);
}

/* ---- a round ---- */

static bool begin_round(struct controller_starts *s)
{
    int64_t now = loop_now_ms(s->loop);

    for (size_t i = 0; i < s->controller_count; i++) {
        AUTO(vipu_pool_view) struct vipu_pool_view pool = pool_free_capacity(s->reconciler->pool, i);

        /* Its size may be known before its partitions are listed. */
        if (now < s->next_ms[i] || !pool.total_ipus || !pool_controller(s->reconciler->pool, i)->is_known)
            continue;
        s->next_ms[i] = now + INTERVAL_MS;
        s->controller = i;
        s->total_ipus = pool.total_ipus;
        s->ahead.count = 0;
        return true;
    }
    return false;
}

/* A bit of work. */
static void advance(struct controller_starts *s)
{
    if (s->bound_at < s->bound_count) {
        try_bound(s);
    } else if (s->what_if) {
        if (what_if_step(s->what_if, SLICE_WORK))
            complete(s);
    } else if (s->ahead.count < CONTROLLER_SIZES_MAX && next_size(s) <= s->total_ipus) {
        s->what_if = what_if_begin_at(s->reconciler, s->controller, next_size(s), FORECAST_UNKNOWN);
    } else {
        s->told[s->controller] = s->ahead;
        s->total_ipus = 0;
    }
}

static int64_t processor_us(void)
{
    struct timespec used;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000 + used.tv_nsec / 1000;
}

static void step(struct loop_timer *timer)
{
    struct controller_starts *s = CONTAINER_OF(timer, struct controller_starts, timer);
    int64_t before_us = processor_us(), work_us;

    if (!reconciler_knows_queue(s->reconciler) || (!s->total_ipus && !begin_round(s))) {
        loop_timer_start(s->loop, timer, CHECK_MS, step);
        return;
    }
    advance(s);
    work_us = processor_us() - before_us;
    what_if_charge(s->reconciler, work_us);
    loop_timer_start(s->loop, timer, work_us * PAUSE_PER_WORK / 1000, step);
}

/* ---- life ---- */

struct controller_starts *controller_starts_new(struct loop *loop, struct reconciler *reconciler)
{
    struct controller_starts *s = NEW(struct controller_starts);

    s->loop = loop;
    s->reconciler = reconciler;
    s->controller_count = pool_count(reconciler->pool);
    s->told = mem_alloc((s->controller_count + 1) * sizeof(*s->told));
    s->next_ms = mem_alloc((s->controller_count + 1) * sizeof(*s->next_ms));
    loop_timer_start(loop, &s->timer, CHECK_MS, step);
    return s;
}

const struct controller_start *controller_starts_of(const struct controller_starts *starts, size_t controller,
                                                    size_t *ret_count)
{
    *ret_count = starts->told[controller].count;
    return starts->told[controller].items;
}

void controller_starts_free(struct controller_starts *starts)
{
    if (!starts)
        return;
    loop_timer_stop(&starts->timer);
    what_if_free(starts->what_if);
    mem_free(starts->told);
    mem_free(starts->next_ms);
    mem_free(starts);
}
