#include "operator/forecast/queue/moment.h"

#include <string.h>

#include "operator/forecast/queue/claim.h"
#include "operator/forecast/place/layout.h"
#include "operator/forecast/place/place.h"
#include "operator/forecast/queue/reservation.h"
#include "operator/forecast/run_estimate.h"

#define AGE_ZERO (1 << 30) /* of an occupant that starts at the plan's now, in its key */

/* ---- memory ---- */

static uint32_t reservations_max(const struct forecast_input *input)
{
    return (uint32_t)(input->controller_count < FORECAST_CONTROLLERS ? input->controller_count
                                                                     : FORECAST_CONTROLLERS) *
           FORECAST_DEPTH_MAX;
}

/* Each claim that starts takes an IPU at least. */
static uint32_t starts_max(const struct forecast_input *input)
{
    uint64_t ipus = 0, claims = 0;

    for (size_t c = 0; c < input->controller_count && c < FORECAST_CONTROLLERS; c++) {
        const struct forecast_controller *it = &input->controllers[c];

        ipus += it->is_placed                           ? (uint64_t)it->domain_count * DOMAIN_IPUS
                : it->total_ipus < FORECAST_COUNTED_MAX ? it->total_ipus
                                                        : FORECAST_COUNTED_MAX;
    }
    for (size_t i = 0; i < input->claim_count; i++)
        claims += input->claims[i].count;
    return (uint32_t)(ipus < claims ? ipus : claims);
}

size_t moment_lay_out(struct moment *b, const struct forecast_input *input, const struct queue_order *queue,
                      void *memory)
{
    size_t used = 0, claims = input->claim_count;

    b->input = input;
    b->queue = queue;
    b->slots_max = (uint32_t)input->running_count + starts_max(input);
    used = occupancy_lay_out(&b->occupancy, input, memory);
    b->left = lay(memory, &used, claims, sizeof(*b->left));
    b->started = lay(memory, &used, claims, sizeof(*b->started));
    b->ns_ipus = lay(memory, &used, input->namespace_count, sizeof(*b->ns_ipus));
    b->ns_reserved = lay(memory, &used, input->namespace_count, sizeof(*b->ns_reserved));
    b->prior = lay(memory, &used, reservations_max(input), sizeof(*b->prior));
    b->reserved = lay(memory, &used, reservations_max(input), sizeof(*b->reserved));
    b->limits = lay(memory, &used, b->occupancy.room_count * queue->size_count, sizeof(*b->limits));
    b->limits_known = lay(memory, &used, b->occupancy.room_count * queue->size_count, 1);
    b->log = lay(memory, &used, b->slots_max, sizeof(*b->log));
    b->slots = lay(memory, &used, b->slots_max, sizeof(*b->slots)); /* last, so that a copy may be short */
    return used;
}

void moment_copy(struct moment *to, const struct moment *from)
{
    char *memory = (char *)to->occupancy.rooms;
    const char *of = (const char *)from->occupancy.rooms;

    to->now = from->now;
    to->slot_count = from->slot_count;
    to->free_slot = from->free_slot;
    to->prior_count = from->prior_count;
    to->reserved_count = from->reserved_count;
    to->prior = (struct forecast_reservation *)(memory + ((const char *)from->prior - of));
    to->reserved = (struct forecast_reservation *)(memory + ((const char *)from->reserved - of));
    memcpy(memory, of, (size_t)((const char *)(from->slots + from->slot_count) - of));
}

/* ---- occupants ---- */

uint32_t moment_key(int64_t bound_s, int64_t start_s)
{
    int64_t age = start_s < 2 - AGE_ZERO ? AGE_ZERO - 2 : start_s > AGE_ZERO ? -AGE_ZERO : -start_s;

    if (bound_s != FORECAST_UNKNOWN && bound_s < KEY_NO_BOUND)
        return bound_s < 1 ? 1 : (uint32_t)bound_s;
    return KEY_NO_BOUND + (uint32_t)(AGE_ZERO + age);
}

static uint32_t new_slot(struct moment *b)
{
    uint32_t slot = b->free_slot;

    if (slot == FORECAST_NONE)
        return b->slot_count++;
    b->free_slot = b->slots[slot].next;
    return slot;
}

static int64_t since_now(const struct moment *b, int64_t time_s)
{
    int64_t span;

    if (time_s == FORECAST_UNKNOWN || !__builtin_sub_overflow(time_s, b->input->now_s, &span))
        return time_s == FORECAST_UNKNOWN ? FORECAST_UNKNOWN : span;
    return time_s < 0 ? INT64_MIN + 1 : FORECAST_UNKNOWN;
}

static void count_ipus(const struct moment *b, uint32_t *counts, uint32_t ns, uint32_t size)
{
    if (ns < b->input->namespace_count && __builtin_add_overflow(counts[ns], size, &counts[ns]))
        counts[ns] = UINT32_MAX;
}

static struct forecast_block within_room(const struct room *r, struct forecast_block block)
{
    if (!r->is_placed || block.domain >= r->domain_count)
        return (struct forecast_block){0};
    if (block.domain_count > r->domain_count - block.domain)
        block.domain_count = r->domain_count - block.domain;
    return block;
}

static void add_running(struct moment *b, uint32_t number)
{
    const struct forecast_running *r = &b->input->running[number];
    const struct room *room = &b->occupancy.rooms[r->controller];
    int64_t hard = since_now(b, r->end_s), start = since_now(b, r->start_s), bound;
    uint32_t at = new_slot(b);
    struct slot *s = &b->slots[at];

    if (hard <= 0)
        hard = run_estimate_corrected(hard, 0);
    bound = hard;
    if (b->input->controllers[r->controller].policy == FORECAST_PREDICTED && bound == FORECAST_UNKNOWN)
        bound = occupant_bound(&r->left);
    *s = (struct slot){.block = within_room(room, r->block),
                       .controller = r->controller,
                       .size = r->size,
                       .ns = r->ns,
                       .source = number | SLOT_RUNNING,
                       .instance = r->instance,
                       .key = moment_key(bound, start),
                       .bound_s = bound,
                       .hard_s = hard};
    if (room->is_placed)
        occupancy_occupy(&b->occupancy, r->controller, &s->block, s->key, at);
    else
        occupancy_count(&b->occupancy, r->controller, s->size);
    count_ipus(b, b->ns_ipus, r->ns, r->size);
}

void moment_init(struct moment *b)
{
    const struct forecast_input *input = b->input;
    size_t claims = input->claim_count;

    b->now = b->slot_count = b->prior_count = b->log_count = 0;
    b->reserved_count = reservations_max(input);
    if (input->reservation_count < b->reserved_count)
        b->reserved_count = (uint32_t)input->reservation_count;
    if (b->reserved_count)
        memcpy(b->reserved, input->reservations, b->reserved_count * sizeof(*b->reserved));
    b->free_slot = FORECAST_NONE;
    memcpy(b->left, b->queue->left, claims * sizeof(*b->left));
    memset(b->started, 0, claims * sizeof(*b->started));
    for (size_t i = 0; i < input->namespace_count; i++)
        b->ns_ipus[i] = input->namespaces[i].held_ipus;
    occupancy_init(&b->occupancy, input);
    for (uint32_t i = 0; i < input->running_count; i++)
        if (input->running[i].controller < b->occupancy.room_count)
            add_running(b, i);
    occupancy_index(&b->occupancy);
}

void moment_note_change(struct moment *b, uint32_t c)
{
    memset(&b->limits_known[c * b->queue->size_count], 0, b->queue->size_count);
}

void moment_release(struct moment *b, uint32_t at)
{
    struct slot *s = &b->slots[at];

    if (b->occupancy.rooms[s->controller].is_placed)
        occupancy_release(&b->occupancy, s->controller, &s->block);
    else
        occupancy_count(&b->occupancy, s->controller, -(int64_t)s->size);
    if (s->ns < b->input->namespace_count)
        b->ns_ipus[s->ns] -= s->size < b->ns_ipus[s->ns] ? s->size : b->ns_ipus[s->ns];
    s->source = FORECAST_NONE;
    s->next = b->free_slot;
    b->free_slot = at;
    moment_note_change(b, s->controller);
}

void moment_correct(struct moment *b, uint32_t at)
{
    struct slot *s = &b->slots[at];

    s->key = moment_key(run_estimate_corrected(s->bound_s, b->now), 0);
    occupancy_set_key(&b->occupancy, s->controller, &s->block, s->key);
}

int64_t moment_time(const struct moment *b, int64_t since_now)
{
    int64_t time_s;

    return __builtin_add_overflow(b->input->now_s, since_now, &time_s) ? FORECAST_UNKNOWN : time_s;
}

/* ---- starts ---- */

uint32_t moment_depth(const struct moment *b)
{
    uint32_t wanted = b->input->settings.depth;

    return wanted < FORECAST_DEPTH_MAX ? wanted : FORECAST_DEPTH_MAX;
}

static bool is_strict(const struct forecast_controller *c)
{
    return c->policy == FORECAST_STRICT || !c->is_placed;
}

void moment_begin(struct moment *b, uint32_t now)
{
    struct forecast_reservation *reserved = b->reserved;

    b->now = now;
    b->reserved = b->prior;
    b->prior = reserved;
    b->prior_count = b->reserved_count;
    b->reserved_count = b->log_count = 0;
    b->has_yielded = false;
    b->strict = b->closed = b->unsettled = b->unsure = 0;
    memset(b->ns_reserved, 0, b->input->namespace_count * sizeof(*b->ns_reserved));
    for (uint32_t c = 0; c < b->occupancy.room_count; c++) {
        uint64_t bit = (uint64_t)1 << c;

        if (is_strict(&b->input->controllers[c]))
            b->strict |= bit;
        if (b->strict & bit || moment_depth(b) > 0)
            b->unsettled |= bit;
        if (b->occupancy.rooms[c].fence_count == 0)
            continue;
        occupancy_clear_fences(&b->occupancy, c);
        moment_note_change(b, c);
    }
}

bool moment_asks_everybody(const struct moment *b, const struct group *g)
{
    return (g->controllers & b->unsettled) != 0;
}

bool moment_is_over_quota(const struct moment *b, const struct group *g)
{
    return g->ns != FORECAST_NONE && (uint64_t)b->ns_ipus[g->ns] + b->ns_reserved[g->ns] + g->size >
                                         b->input->namespaces[g->ns].max_ipus;
}

uint32_t moment_limit(struct moment *b, const struct group *g)
{
    uint32_t limit = 0;

    for (uint64_t left = g->controllers & ~b->closed; left && limit != KEY_GONE; left &= left - 1) {
        uint32_t c = (uint32_t)__builtin_ctzll(left), at = c * b->queue->size_count + g->size_number;

        if (!b->limits_known[at]) {
            b->limits[at] = place_limit(&b->occupancy, c, g->size);
            b->limits_known[at] = 1;
        }
        limit = b->limits[at] > limit ? b->limits[at] : limit;
    }
    return limit;
}

static int64_t bound_from(const struct moment *b, int64_t span)
{
    return span == FORECAST_UNKNOWN || __builtin_add_overflow(span, b->now, &span) ? FORECAST_UNKNOWN : span;
}

uint32_t moment_end_of(const struct moment *b, const struct group *g, uint32_t claim)
{
    return moment_key(bound_from(b, claim_bound(&b->input->claims[claim], g->is_predicted)), b->now);
}

uint32_t moment_next_instance(const struct moment *b, uint32_t claim)
{
    return b->input->claims[claim].instance + b->started[claim];
}

/* The reservation that the claim's next instance had. */
static bool take_prior(struct moment *b, uint32_t claim, struct forecast_reservation *ret)
{
    for (uint32_t i = 0; i < b->prior_count; i++) {
        if (b->prior[i].uid != b->input->claims[claim].uid ||
            b->prior[i].instance != moment_next_instance(b, claim))
            continue;
        *ret = b->prior[i];
        b->prior[i] = b->prior[--b->prior_count];
        return true;
    }
    return false;
}

bool moment_breaks_promise(const struct moment *b, const struct forecast_reservation *own,
                           uint32_t controller, const struct forecast_block *block, uint32_t until)
{
    if (!own || own->promise_s == FORECAST_UNKNOWN || own->start_s > own->promise_s)
        return false;
    for (uint32_t i = 0; i < b->prior_count; i++) {
        const struct forecast_reservation *r = &b->prior[i];

        if (r->promise_s != FORECAST_UNKNOWN && r->controller == controller &&
            forecast_blocks_overlap(&r->block, block) && until > moment_key(since_now(b, r->start_s), b->now))
            return true;
    }
    return false;
}

static void start(struct moment *b, uint32_t claim, uint32_t c, const struct forecast_block *block)
{
    const struct forecast_claim *it = &b->input->claims[claim];
    int64_t hard = bound_from(b, claim_deadline(it)), bound = hard;
    uint32_t at = new_slot(b);
    struct slot *s = &b->slots[at];

    if (b->input->controllers[c].policy == FORECAST_PREDICTED && bound == FORECAST_UNKNOWN)
        bound = bound_from(b, occupant_bound(&it->run));
    *s = (struct slot){.block = *block,
                       .controller = c,
                       .size = it->size,
                       .ns = it->ns,
                       .source = claim,
                       .instance = moment_next_instance(b, claim),
                       .key = moment_key(bound, b->now),
                       .bound_s = bound,
                       .hard_s = hard};
    if (b->occupancy.rooms[c].is_placed)
        occupancy_take(&b->occupancy, c, block, s->key, at);
    else
        occupancy_count(&b->occupancy, c, s->size);
    count_ipus(b, b->ns_ipus, it->ns, it->size);
    b->left[claim]--;
    b->started[claim]++;
    b->log[b->log_count++] = at;
    moment_note_change(b, c);
}

/* Its own block first, then the first controller with room, as in a strict order. */
static bool try_start(struct moment *b, const struct group *g, uint32_t claim,
                      const struct forecast_reservation *own)
{
    uint32_t end = moment_end_of(b, g, claim);
    struct forecast_block block;

    if (own && own->block.domain_count && g->controllers & ~b->closed & (uint64_t)1 << own->controller &&
        place_is_valid(&b->occupancy, own->controller, &own->block, g->size) &&
        place_key(&b->occupancy, own->controller, &own->block) == KEY_FREE) {
        start(b, claim, own->controller, &own->block);
        return true;
    }
    for (uint64_t left = g->controllers & ~b->closed; left; left &= left - 1) {
        uint32_t c = (uint32_t)__builtin_ctzll(left);

        if (!place_find(&b->occupancy, c, g->size, end, &block))
            continue;
        if (!moment_breaks_promise(b, own, c, &block, end)) {
            start(b, claim, c, &block);
            return true;
        }
        b->has_yielded = true;
    }
    return false;
}

/* ---- the line ---- */

static bool can_start(struct moment *b, const struct group *g, uint32_t claim)
{
    uint32_t limit = moment_limit(b, g);

    return limit == KEY_GONE || (limit > 0 && moment_end_of(b, g, claim) <= limit);
}

bool moment_serve(struct moment *b, uint32_t claim)
{
    const struct group *g = &b->queue->groups[b->queue->group_of[claim]];
    struct forecast_reservation prior, *own = take_prior(b, claim, &prior) ? &prior : NULL;

    if (can_start(b, g, claim) && try_start(b, g, claim, own))
        return true;
    if (!moment_asks_everybody(b, g))
        return false;
    if (reservation_make(b, g, claim, own))
        count_ipus(b, b->ns_reserved, b->input->claims[claim].ns, g->size);
    b->closed |= g->controllers & b->strict; /* today's rule: nothing passes it wherever it could start */
    b->unsettled &= ~(g->controllers & b->strict);
    return false;
}

static bool is_to_serve(struct moment *b, uint32_t claim)
{
    const struct group *g = &b->queue->groups[b->queue->group_of[claim]];

    return b->left[claim] > 0 && g->controllers && !moment_is_over_quota(b, g) &&
           (moment_asks_everybody(b, g) || can_start(b, g, claim));
}

/* Of one priority. Round after round: who has started an instance asks for the next one when all others have
 * been asked. Who cannot start is not asked again, because room only gets less. */
static void serve_priority(struct moment *b, const uint32_t *claims, uint32_t count, uint32_t *again)
{
    while (count > 0) {
        uint32_t started = 0;

        for (uint32_t i = 0; i < count; i++) {
            uint32_t claim = claims[i];

            if (is_to_serve(b, claim) && moment_serve(b, claim) && b->left[claim] > 0)
                again[started++] = claim;
        }
        claims = again;
        count = started;
    }
}

void moment_serve_line(struct moment *b, uint32_t *again)
{
    const struct queue_order *queue = b->queue;

    for (uint32_t from = 0, end; from < queue->count; from = end) {
        for (end = from; end < queue->count &&
                         queue->classes[queue->order[end]] / 2 == queue->classes[queue->order[from]] / 2;)
            end++;
        serve_priority(b, &queue->order[from], end - from, again);
    }
}
