#include "operator/forecast/forecast.h"

#include <assert.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/forecast/queue/moment.h"
#include "operator/forecast/queue/claim.h"
#include "operator/forecast/place/place.h"
#include "operator/forecast/projection/projection.h"

struct forecast {
    struct forecast_input input;
    struct queue_order queue;
    struct moment moment;
    void *queue_memory, *moment_memory;
    struct forecast_start *starts;
    struct forecast_verdict *verdicts;
    struct projection *projection; /* NULL until the first step */
    struct forecast_plan plan;
};

/* ---- why claims wait ---- */

struct wait {
    uint32_t controller;
    enum forecast_cause cause;
};

/* The causes in which a controller is nearer to start it have greater numbers. */
static struct wait wait_of_group(const struct moment *b, const struct group *g)
{
    struct wait nearest = {FORECAST_NONE, FORECAST_STARTS};

    for (uint64_t left = g->controllers; left; left &= left - 1) {
        uint32_t c = (uint32_t)__builtin_ctzll(left);
        enum forecast_cause cause = FORECAST_NO_ROOM;

        if (place_is_free(&b->occupancy, c, g->size))
            cause = b->strict >> c & 1 ? FORECAST_ORDER : FORECAST_RESERVED;
        else if (b->occupancy.rooms[c].free_ipus >= g->size)
            cause = FORECAST_FRAGMENTED;
        if (cause > nearest.cause)
            nearest = (struct wait){c, cause};
    }
    return nearest;
}

/* What waits in line; the other causes do not depend on others in the line. */
static void set_cause(const struct forecast *f, const struct wait *waits, uint32_t claim)
{
    const struct forecast_claim *it = &f->input.claims[claim];
    struct forecast_verdict *v = &f->verdicts[claim];
    uint32_t group = f->queue.group_of[claim];
    const struct group *g = &f->queue.groups[group];

    if (f->moment.left[claim] == 0)
        v->cause = f->moment.started[claim] < it->count ? FORECAST_QUEUE_QUOTA
                   : it->is_ready                       ? FORECAST_STARTS
                                                        : FORECAST_NOT_READY;
    else if (g->controllers == 0)
        v->cause = g->cause;
    else if (!v->is_reserved && moment_is_over_quota(&f->moment, g))
        v->cause = FORECAST_IPU_QUOTA;
    else if (!it->is_ready && f->moment.started[claim])
        v->cause = FORECAST_NOT_READY;
    else
        v->cause = (uint8_t)waits[group].cause;
    if (v->controller == FORECAST_NONE)
        v->controller = waits[group].controller;
}

static bool waits_in_line(uint8_t cause)
{
    return cause >= FORECAST_NO_ROOM && cause <= FORECAST_ORDER;
}

static void set_positions(struct forecast *f)
{
    uint32_t counts[FORECAST_CONTROLLERS] = {0};

    for (uint32_t i = 0; i < f->queue.count; i++) {
        uint32_t claim = f->queue.order[i];
        struct forecast_verdict *v = &f->verdicts[claim];

        if (!waits_in_line(v->cause))
            continue;
        for (uint64_t left = f->queue.groups[f->queue.group_of[claim]].controllers; left; left &= left - 1)
            counts[__builtin_ctzll(left)]++;
        v->position = counts[v->controller];
    }
}

static void set_verdicts(struct forecast *f)
{
    AUTO(mem) struct wait *waits = mem_alloc(f->queue.group_count * sizeof(*waits));

    for (uint32_t i = 0; i < f->queue.group_count; i++)
        waits[i] = wait_of_group(&f->moment, &f->queue.groups[i]);
    for (uint32_t i = 0; i < f->queue.count; i++) {
        f->verdicts[i].controller = FORECAST_NONE;
        f->verdicts[i].basis = FORECAST_OPEN;
        f->verdicts[i].p10_s = f->verdicts[i].p50_s = f->verdicts[i].p90_s = FORECAST_UNKNOWN;
    }
    for (uint32_t i = 0; i < f->moment.log_count; i++) {
        const struct slot *s = &f->moment.slots[f->moment.log[i]];

        if (f->moment.left[s->source] == 0)
            f->verdicts[s->source].controller = s->controller;
        if (f->input.claims[s->source].is_ready)
            f->verdicts[s->source].started++;
    }
    for (uint32_t i = 0; i < f->moment.reserved_count; i++) {
        f->verdicts[f->moment.reserved[i].claim].controller = f->moment.reserved[i].controller;
        f->verdicts[f->moment.reserved[i].claim].is_reserved = true;
    }
    for (uint32_t i = 0; i < f->queue.count; i++) {
        f->verdicts[i].waiting = f->moment.left[i];
        set_cause(f, waits, i);
    }
    set_positions(f);
}

/* ---- the plan ---- */

static void set_starts(struct forecast *f)
{
    f->starts = mem_alloc(f->moment.log_count * sizeof(*f->starts));
    for (uint32_t i = 0; i < f->moment.log_count; i++) {
        const struct slot *s = &f->moment.slots[f->moment.log[i]];

        if (f->input.claims[s->source].is_ready)
            f->starts[f->plan.start_count++] =
                (struct forecast_start){s->source, s->instance, s->controller, s->block};
    }
}

static void wake_at(const struct forecast *f, int64_t from_s, int64_t span, int64_t *wake_s)
{
    int64_t time_s;

    if (from_s != FORECAST_UNKNOWN && span != FORECAST_UNKNOWN &&
        !__builtin_add_overflow(from_s, span, &time_s) && time_s > f->input.now_s && time_s < *wake_s)
        *wake_s = time_s;
}

/* What a claim yielded to may be gone. */
static bool has_new_reservations(const struct forecast *f)
{
    uint32_t same = 0;

    for (size_t i = 0; i < f->input.reservation_count; i++)
        for (uint32_t n = 0; n < f->moment.reserved_count; n++) {
            const struct forecast_reservation *a = &f->input.reservations[i], *b = &f->moment.reserved[n];

            same += a->uid == b->uid && a->instance == b->instance && a->controller == b->controller &&
                    memcmp(&a->block, &b->block, sizeof(a->block)) == 0;
        }
    return same < f->input.reservation_count;
}

/* When a bound passes, a block closes, or a claim comes first in its priority. */
static int64_t next_wake(const struct forecast *f)
{
    const struct forecast_settings *settings = &f->input.settings;
    int64_t wake_s = FORECAST_UNKNOWN;

    if (f->moment.has_yielded && has_new_reservations(f))
        wake_at(f, f->input.now_s, 1, &wake_s);
    for (uint32_t i = 0; i < f->moment.reserved_count; i++) {
        const struct forecast_reservation *r = &f->moment.reserved[i];

        wake_at(f, r->start_s, 0, &wake_s);
        wake_at(f, r->promise_s, settings->max_slide_s, &wake_s);
        if (!r->is_closed)
            wake_at(f, r->since_s, settings->close_after_s, &wake_s);
    }
    for (uint32_t i = 0; settings->guard_after_s != FORECAST_UNKNOWN && i < f->queue.count; i++)
        wake_at(f, f->input.claims[i].turn_s, settings->guard_after_s, &wake_s);
    return wake_s;
}

struct forecast *forecast_new(const struct forecast_input *input)
{
    struct forecast *f = NEW(struct forecast);
    AUTO(mem) uint32_t *again = mem_alloc(input->claim_count * sizeof(*again));

    f->input = *input;
    f->queue_memory = mem_alloc(queue_order_lay_out(&f->queue, &f->input, NULL));
    queue_order_lay_out(&f->queue, &f->input, f->queue_memory);
    queue_order_init(&f->queue, &f->input);
    f->moment_memory = mem_alloc(moment_lay_out(&f->moment, &f->input, &f->queue, NULL));
    moment_lay_out(&f->moment, &f->input, &f->queue, f->moment_memory);
    moment_init(&f->moment);
    moment_begin(&f->moment, 0);
    moment_serve_line(&f->moment, again);
    f->verdicts = mem_alloc(input->claim_count * sizeof(*f->verdicts));
    set_verdicts(f);
    set_starts(f);
    f->plan.order = f->queue.order;
    f->plan.starts = f->starts;
    f->plan.reserved = f->moment.reserved;
    f->plan.reserved_count = f->moment.reserved_count;
    f->plan.verdicts = f->verdicts;
    f->plan.next_wake_s = next_wake(f);
    return f;
}

void forecast_free(struct forecast *f)
{
    if (!f)
        return;
    projection_free(f->projection);
    mem_free(f->queue_memory);
    mem_free(f->moment_memory);
    mem_free(f->starts);
    mem_free(f->verdicts);
    mem_free(f);
}

const struct forecast_plan *forecast_plan_of(const struct forecast *forecast)
{
    return &forecast->plan;
}

/* ---- expected starts ---- */

static void set_now(const struct forecast *f, struct forecast_verdict *v)
{
    v->p10_s = v->p50_s = v->p90_s = f->input.now_s;
    v->basis = FORECAST_BY_NOW;
}

/* Deadlines end a claim by force, so it starts no later than its block is free by them. */
static void apply_bounds(const struct forecast *f, const struct forecast_reservation *r)
{
    struct forecast_verdict *v = &f->verdicts[r->claim];

    if (r->promise_s == FORECAST_UNKNOWN || r->start_s == FORECAST_UNKNOWN ||
        f->input.controllers[r->controller].policy == FORECAST_PREDICTED)
        return;
    v->p90_s = r->start_s;
    v->p50_s = v->p50_s < v->p90_s ? v->p50_s : v->p90_s;
    v->p10_s = v->p10_s < v->p90_s ? v->p10_s : v->p90_s;
    v->basis = FORECAST_BY_BOUNDS;
}

bool forecast_step(struct forecast *f, uint32_t work)
{
    if (f->plan.is_complete)
        return true;
    if (!f->projection)
        f->projection = projection_new(&f->moment);
    if (!projection_step(f->projection, work, f->verdicts))
        return false;
    for (uint32_t i = 0; i < f->queue.count; i++)
        if (f->moment.started[i] && f->moment.left[i] == 0)
            set_now(f, &f->verdicts[i]);
    for (uint32_t i = 0; i < f->moment.reserved_count; i++)
        apply_bounds(f, &f->moment.reserved[i]);
    projection_free(f->projection);
    f->projection = NULL;
    f->plan.is_complete = true;
    return true;
}
