#include "operator/forecast/queue/reservation.h"

#include "operator/forecast/queue/claim.h"
#include "operator/forecast/place/place.h"

/* A block that a claim could reserve, and when it is free. */
struct offer {
    struct forecast_block block;
    uint32_t controller, key, free;
};

/* The block that it had, if it can have it still. */
static bool offer_prior(const struct moment *b, const struct group *g,
                        const struct forecast_reservation *prior, struct offer *ret)
{
    uint32_t c = prior->controller, key;

    if (c >= b->occupancy.room_count || !(g->controllers & b->unsettled & (uint64_t)1 << c) ||
        !place_is_valid(&b->occupancy, c, &prior->block, g->size))
        return false;
    key = place_key(&b->occupancy, c, &prior->block);
    *ret = (struct offer){prior->block, c, key, 0};
    return key != KEY_GONE;
}

/* It keeps the block that it had, so that the machine does not drain one block after the other and fill none;
 * unless another is free earlier by more than a minute and 5 %. */
static uint32_t latest_to_change(const struct moment *b, uint32_t prior_key)
{
    uint32_t least = prior_key - b->now < 1200 ? 60 : (prior_key - b->now) / 20;

    if (prior_key >= KEY_NO_BOUND)
        return KEY_NO_BOUND - 1;
    return prior_key > least ? prior_key - least - 1 : 0;
}

/* The key at which a claim has ended that starts at this one. */
static uint32_t until_of(const struct moment *b, const struct forecast_claim *claim, const struct offer *o)
{
    int64_t span = claim_deadline(claim);

    if (b->input->controllers[o->controller].policy == FORECAST_PREDICTED && span == FORECAST_UNKNOWN)
        span = occupant_bound(&claim->run);
    if (o->key >= KEY_NO_BOUND || span == FORECAST_UNKNOWN ||
        __builtin_add_overflow(span, (int64_t)o->key, &span))
        span = FORECAST_UNKNOWN;
    return moment_key(span, b->now);
}

/* Of the controllers where it could still reserve, the prior block or the one that is free earliest. Without
 * places there is no block and no time. */
static bool find_offer(struct moment *b, const struct group *g, const struct forecast_claim *claim,
                       const struct forecast_reservation *prior, struct offer *best)
{
    struct offer it;
    bool has_prior = prior && offer_prior(b, g, prior, best), found = has_prior, is_placed;
    uint32_t latest = found ? latest_to_change(b, best->key) : KEY_GONE - 1;

    for (uint64_t left = g->controllers & b->unsettled; left; left &= left - 1) {
        it.controller = (uint32_t)__builtin_ctzll(left);
        is_placed = b->occupancy.rooms[it.controller].is_placed;
        if (!is_placed && !found) {
            *best = (struct offer){.controller = it.controller, .key = KEY_GONE};
            found = true;
        }
        if (!is_placed || !place_earliest(&b->occupancy, it.controller, g->size, latest, &it.block, &it.key))
            continue;
        it.free = place_free_ipus(&b->occupancy, it.controller, &it.block);
        if ((it.key == best->key && it.free >= best->free) ||
            (has_prior && moment_breaks_promise(b, prior, it.controller, &it.block, until_of(b, claim, &it))))
            continue;
        *best = it;
        latest = it.key;
        found = true;
    }
    return found;
}

static const struct slot *occupant(const struct moment *b, uint32_t c, uint32_t d, uint32_t ipu)
{
    uint32_t at = b->occupancy.slots[(b->occupancy.rooms[c].first + d) * DOMAIN_IPUS + ipu];

    return at == FORECAST_NONE ? NULL : &b->slots[at];
}

/* Whether the claim's own namespace keeps the block from having a time. */
static bool is_held_by_own(const struct moment *b, const struct offer *o, uint32_t ns)
{
    for (uint32_t d = o->block.domain; d < o->block.domain + o->block.domain_count; d++)
        for (uint64_t left = o->block.ipus; left; left &= left - 1) {
            const struct slot *s = occupant(b, o->controller, d, (uint32_t)__builtin_ctzll(left));

            if (s && s->key >= KEY_NO_BOUND && s->ns == ns && ns != FORECAST_NONE)
                return true;
        }
    return false;
}

static bool has_passed(int64_t since_s, int64_t span_s, int64_t now_s)
{
    int64_t passed;

    return !__builtin_sub_overflow(now_s, since_s, &passed) && passed >= span_s;
}

/* See the rules in forecast.h. */
static void set_limits(const struct moment *b, const struct forecast_claim *claim, const struct offer *o,
                       struct forecast_reservation *r)
{
    const struct forecast_settings *settings = &b->input->settings;
    int64_t now_s = moment_time(b, b->now);
    bool is_old = has_passed(r->since_s, settings->close_after_s, now_s);

    if (o->key < KEY_NO_BOUND) {
        r->start_s = moment_time(b, o->key);
        if (r->promise_s == FORECAST_UNKNOWN && !(b->unsure >> o->controller & 1))
            r->promise_s = r->start_s;
        r->is_closed = has_passed(r->promise_s, settings->max_slide_s, now_s) &&
                       (is_old || b->input->controllers[o->controller].policy != FORECAST_PREDICTED);
    } else {
        r->start_s = FORECAST_UNKNOWN;
        r->is_closed = is_old && !is_held_by_own(b, o, claim->ns);
        r->is_open = !r->is_closed;
    }
}

/* A claim that has started in this plan comes before it in turn. That may break its promise, as an arrival of
 * higher priority may. */
static bool is_displaced(const struct moment *b, const struct forecast_reservation *prior)
{
    for (uint32_t i = 0; prior->promise_s != FORECAST_UNKNOWN && i < b->log_count; i++) {
        const struct slot *s = &b->slots[b->log[i]];

        if (s->controller == prior->controller && forecast_blocks_overlap(&s->block, &prior->block) &&
            (s->key >= KEY_NO_BOUND || moment_time(b, s->key) > prior->promise_s))
            return true;
    }
    return false;
}

/* The bounds on which the promise rests do not hold: who ends by the start as it is expected now may start in
 * the block, and delay it if the occupant ends sooner. */
static bool is_overrun(const struct moment *b, const struct forecast_reservation *r)
{
    for (size_t i = 0; r->start_s > r->promise_s && i < b->input->running_count; i++) {
        const struct forecast_running *it = &b->input->running[i];

        if (it->controller == r->controller && it->end_s <= moment_time(b, b->now) &&
            forecast_blocks_overlap(&it->block, &r->block))
            return true;
    }
    return false;
}

/* Keeps the block from all who are served later. */
static void fence_off(struct moment *b, const struct forecast_claim *claim, const struct offer *o,
                      const struct forecast_reservation *r)
{
    uint32_t limit = r->is_closed ? 0 : r->is_open ? KEY_GONE : o->key;

    occupancy_fence(&b->occupancy, o->controller, &(struct fence){o->block, limit, until_of(b, claim, o)});
    moment_note_change(b, o->controller);
    if (b->occupancy.rooms[o->controller].fence_count >= moment_depth(b))
        b->unsettled &= ~((uint64_t)1 << o->controller);
}

bool reservation_make(struct moment *b, const struct group *g, uint32_t claim,
                      const struct forecast_reservation *prior)
{
    const struct forecast_claim *it = &b->input->claims[claim];
    struct forecast_reservation *r = &b->reserved[b->reserved_count];
    struct offer best = {.key = KEY_GONE};

    if (!find_offer(b, g, it, prior, &best))
        return false;
    *r = (struct forecast_reservation){.uid = it->uid,
                                       .instance = moment_next_instance(b, claim),
                                       .controller = best.controller,
                                       .block = best.block,
                                       .start_s = FORECAST_UNKNOWN,
                                       .promise_s = prior ? prior->promise_s : FORECAST_UNKNOWN,
                                       .since_s = prior ? prior->since_s : moment_time(b, b->now),
                                       .is_displaced =
                                           prior && (prior->is_displaced || is_displaced(b, prior)),
                                       .claim = claim};
    if (best.key != KEY_GONE)
        set_limits(b, it, &best, r);
    /* Of those that are projected nobody asks, and to find out takes the longer the more run. */
    r->is_overrun = prior && (prior->is_overrun || (b->now == 0 && is_overrun(b, r)));
    b->reserved_count++;
    if (r->promise_s == FORECAST_UNKNOWN)
        b->unsure |= g->controllers;
    if (b->strict >> best.controller & 1) {
        r->is_closed = true;
        r->is_open = false;
    } else {
        fence_off(b, it, &best, r);
    }
    return true;
}
