#include "operator/pool/claims_preemption.h"

#include "base/core/mem.h"
#include "base/core/str.h"

static bool is_victim(const struct remedy *remedy, size_t running)
{
    for (uint32_t i = 0; i < remedy->victim_count; i++) {
        if (remedy->victims[i] == running)
            return true;
    }
    return false;
}

static const struct claims_running *find_running(const struct claims_controller *c,
                                                 const struct forecast_running *wanted)
{
    for (size_t i = 0; i < c->running_count; i++) {
        if (c->running[i].instance == wanted->instance && c->running[i].start_s == wanted->start_s &&
            str_hash(c->running[i].uid) == wanted->uid)
            return &c->running[i];
    }
    return NULL;
}

/* Its block may be free before the victims have released their IPUs. False if nobody knows when it will be.
 */
static bool starts_anyway(const struct claims_view *view, const struct forecast_input *input,
                          const struct forecast_reservation *reservation, const struct remedy *remedy)
{
    const struct claims_controller *c = &view->controllers[remedy->controller];
    int64_t released_s = view->now_s;

    for (uint32_t i = 0; i < remedy->victim_count; i++) {
        const struct forecast_running *victim = &input->running[remedy->victims[i]];
        int64_t at_s = victim->is_leaving ? victim->end_s : view->now_s + find_running(c, victim)->release_s;

        if (at_s > released_s)
            released_s = at_s;
    }
    return reservation->start_s != FORECAST_UNKNOWN && reservation->start_s <= released_s;
}

/* The line as it is, without the victims. An earlier claim may want the same IPUs. */
static bool starts_then(const struct claims_plan *plan, uint32_t claim, const struct remedy *remedy)
{
    struct forecast_input then = plan->input;
    AUTO(mem) struct forecast_running *left = mem_alloc(then.running_count * sizeof(*left));
    const struct forecast_verdict *now = &forecast_plan_of(plan->forecast)->verdicts[claim];
    struct forecast *forecast;
    bool starts;

    then.running_count = 0;
    for (size_t i = 0; i < plan->input.running_count; i++) {
        if (!is_victim(remedy, i))
            left[then.running_count++] = plan->input.running[i];
    }
    then.running = left;
    forecast = forecast_new(&then);
    starts = forecast_plan_of(forecast)->verdicts[claim].started > now->started;
    forecast_free(forecast);
    return starts;
}

/* When the next of those that may be ended for the claim is no longer exempt. */
static int64_t exempt_until_s(const struct forecast_input *input, uint32_t claim, int64_t exempt_s)
{
    int64_t until_s = FORECAST_UNKNOWN;

    for (size_t i = 0; i < input->running_count; i++) {
        const struct forecast_running *running = &input->running[i];
        int64_t at_s = running->start_s + exempt_s;

        if (running->is_restartable && running->priority < input->claims[claim].priority &&
            at_s > input->now_s && at_s < until_s)
            until_s = at_s;
    }
    return until_s;
}

static void set_victims(const struct claims_view *view, const struct forecast_input *input, size_t claim,
                        const struct remedy *remedy, struct claims_preemption *ret)
{
    const struct claims_controller *c = &view->controllers[remedy->controller];

    ret->claim = claim;
    ret->controller = remedy->controller;
    ret->cost_ipu_s = remedy->cost_ipu_s;
    for (uint32_t i = 0; i < remedy->victim_count; i++) {
        const struct forecast_running *victim = &input->running[remedy->victims[i]];

        if (!victim->is_leaving)
            ret->victims[ret->victim_count++] = (size_t)(find_running(c, victim) - c->running);
    }
}

bool claims_find_preemption(const struct claims_view *view, const struct claim *claims,
                            const struct claims_plan *plan, int64_t exempt_s, struct claims_preemption *ret)
{
    const struct forecast_plan *made = forecast_plan_of(plan->forecast);

    *ret = (struct claims_preemption){.again_s = FORECAST_UNKNOWN};
    for (size_t i = 0; i < made->reserved_count && !ret->victim_count; i++) {
        uint32_t claim = made->reserved[i].claim;
        struct remedy remedy;
        int64_t again_s;

        if (!claims[claim].preempts || !claims[claim].is_ready)
            continue;
        again_s = exempt_until_s(&plan->input, claim, exempt_s);
        if (remedy_find(&plan->input, made, claim, REMEDY_PREEMPTION, exempt_s, &remedy) &&
            !starts_anyway(view, &plan->input, &made->reserved[i], &remedy) &&
            starts_then(plan, claim, &remedy))
            set_victims(view, &plan->input, claim, &remedy, ret);
        if (again_s < ret->again_s)
            ret->again_s = again_s;
    }
    return ret->victim_count > 0;
}

bool claims_find_advice(const struct claims_view *view, const struct claims_plan *plan, uint32_t claim,
                        struct claims_preemption *ret)
{
    const struct forecast_plan *made = forecast_plan_of(plan->forecast);
    struct remedy remedy;

    *ret = (struct claims_preemption){.again_s = FORECAST_UNKNOWN};
    if (made->verdicts[claim].cause == FORECAST_FRAGMENTED &&
        remedy_find(&plan->input, made, claim, REMEDY_DEFRAGMENTATION, 0, &remedy))
        set_victims(view, &plan->input, claim, &remedy, ret);
    return ret->victim_count > 0;
}
