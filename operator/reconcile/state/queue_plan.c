#include "operator/reconcile/state/queue_plan.h"

#include "base/core/mem.h"

#define SLICE_WORK 1000     /* microseconds of a usual processor */
#define INTERVAL_MS 1000    /* between the begins of two forecasts, at least */
#define PAUSE_PER_WORK 100  /* a pause is so many times as long as the forecast before it took */
#define WAKE_MAX_MS 3600000 /* a look more in an hour costs nothing, and the wall clock may be set */

static void step(struct loop_timer *timer);

static void begin(struct queue_plan *mine, struct claims_plan *plan)
{
    mine->ahead = plan;
    mine->is_behind = false;
    mine->work_us = 0;
    mine->next_ms = loop_now_ms(mine->loop) + INTERVAL_MS;
    loop_timer_start(mine->loop, &mine->slice, 0, step);
}

static void replace_told(struct queue_plan *plan)
{
    int64_t rested_ms = loop_now_ms(plan->loop) + plan->work_us * PAUSE_PER_WORK / 1000;

    if (plan->next_ms < rested_ms)
        plan->next_ms = rested_ms;
    claims_plan_free(plan->told);
    plan->told = plan->ahead;
    plan->ahead = NULL;
    plan->is_being_told = true;
    plan->told_to = 0;
}

/* The queue is checked once more if what was seen meanwhile is not in the plan that is told. */
static void step(struct loop_timer *timer)
{
    struct queue_plan *plan = CONTAINER_OF(timer, struct queue_plan, slice);
    int64_t now = loop_now_ms(plan->loop);

    plan->work_us += SLICE_WORK;
    if (plan->is_being_told) {
        plan->is_being_told = !plan->tell(plan->ctx, &plan->told_to);
    } else if (!plan->ahead && now >= plan->next_ms) {
        plan->on_due(plan->ctx);
        return;
    } else if (plan->ahead && claims_plan_step(plan->ahead, SLICE_WORK)) {
        replace_told(plan);
    }
    if (plan->is_being_told || plan->ahead)
        loop_timer_start(plan->loop, timer, 0, step);
    else if (plan->is_behind)
        loop_timer_start(plan->loop, timer, plan->next_ms > now ? plan->next_ms - now : 0, step);
}

static void wake(struct loop_timer *timer)
{
    struct queue_plan *plan = CONTAINER_OF(timer, struct queue_plan, wake);

    plan->on_due(plan->ctx);
}

static void wake_when_due(struct queue_plan *mine, const struct claims_plan *plan, int64_t again_s)
{
    int64_t next_s = forecast_plan_of(plan->forecast)->next_wake_s;
    int64_t wake_s = again_s < next_s ? again_s : next_s;
    int64_t left_s = wake_s == FORECAST_UNKNOWN ? 0 : wake_s - plan->input.now_s;

    if (left_s > 0)
        loop_timer_start(mine->loop, &mine->wake, left_s < WAKE_MAX_MS / 1000 ? left_s * 1000 : WAKE_MAX_MS,
                         wake);
    else
        loop_timer_stop(&mine->wake);
}

void queue_plan_set(struct queue_plan *mine, struct claims_plan *plan, int64_t again_s)
{
    const struct forecast_plan *made;

    if (!plan) {
        queue_plan_release(mine);
        return;
    }
    made = forecast_plan_of(plan->forecast);
    mine->looked_s = plan->input.now_s;
    mem_free(mine->reserved);
    mine->reserved = mem_dup(made->reserved, made->reserved_count * sizeof(*made->reserved));
    mine->reserved_count = made->reserved_count;
    wake_when_due(mine, plan, again_s);
    if (!mine->ahead && loop_now_ms(mine->loop) >= mine->next_ms) {
        begin(mine, plan);
        return;
    }
    claims_plan_free(plan);
    mine->is_behind = true;
    if (!mine->ahead && !loop_timer_is_running(&mine->slice))
        loop_timer_start(mine->loop, &mine->slice, mine->next_ms - loop_now_ms(mine->loop), step);
}

void queue_plan_charge(struct queue_plan *plan, int64_t work_us)
{
    int64_t now = loop_now_ms(plan->loop);

    plan->next_ms = (plan->next_ms > now ? plan->next_ms : now) + work_us * PAUSE_PER_WORK / 1000;
}

void queue_plan_release(struct queue_plan *plan)
{
    loop_timer_stop(&plan->slice);
    loop_timer_stop(&plan->wake);
    claims_plan_free(plan->told);
    claims_plan_free(plan->ahead);
    mem_free(plan->reserved);
    *plan =
        (struct queue_plan){.loop = plan->loop, .on_due = plan->on_due, .tell = plan->tell, .ctx = plan->ctx};
}

const struct forecast_verdict *queue_plan_expects(const struct queue_plan *plan, const char *uid)
{
    int64_t claim = plan->told ? claims_plan_find(plan->told, uid) : -1;

    return claim < 0 ? NULL : &forecast_plan_of(plan->told->forecast)->verdicts[claim];
}

const struct forecast_reservation *queue_plan_keeps(const struct queue_plan *plan, const char *uid)
{
    const struct forecast_plan *made = plan->told ? forecast_plan_of(plan->told->forecast) : NULL;
    int64_t claim = plan->told ? claims_plan_find(plan->told, uid) : -1;

    for (size_t i = 0; claim >= 0 && i < made->reserved_count; i++) {
        if (made->reserved[i].claim == claim)
            return &made->reserved[i];
    }
    return NULL;
}
