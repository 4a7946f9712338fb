#include "operator/forecast/plan/remedy.h"

#include <string.h>

#include "base/core/mem.h"
#include "operator/forecast/place/occupancy.h"
#include "operator/forecast/place/place.h"

#define STARTS_NOW (1u << 31) /* an owner that is not in running[] */

struct search {
    const struct forecast_input *input;
    const struct forecast_plan *plan;
    const struct forecast_claim *claim;
    uint32_t number; /* of the claim */
    enum remedy_kind kind;
    int64_t least_run_s;
    struct occupancy *occupancy;
    const uint64_t *free; /* per domain, before a candidate is tried */
    uint32_t *seen;       /* per entry of running[]: the last candidate that counted it */
    uint32_t candidate;
    struct remedy *best;
};

static struct forecast_block clipped(const struct room *r, struct forecast_block block)
{
    if (block.domain >= r->domain_count)
        block.domain_count = 0;
    else if (block.domain_count > r->domain_count - block.domain)
        block.domain_count = r->domain_count - block.domain;
    return block;
}

/* What is reserved for others counts as theirs; its own reservation does not count. */
static void occupy(struct occupancy *o, const struct forecast_input *input, const struct forecast_plan *plan,
                   uint32_t claim)
{
    occupancy_init(o, input);
    for (uint32_t i = 0; i < input->running_count; i++) {
        const struct forecast_running *r = &input->running[i];

        if (r->controller < o->room_count) {
            struct forecast_block block = clipped(&o->rooms[r->controller], r->block);

            occupancy_occupy(o, r->controller, &block, KEY_NO_BOUND, i);
        }
    }
    for (size_t i = 0; i < plan->start_count; i++)
        occupancy_occupy(o, plan->starts[i].controller, &plan->starts[i].block, KEY_NO_BOUND, STARTS_NOW);
    for (size_t i = 0; i < plan->reserved_count; i++)
        if (plan->reserved[i].claim != claim)
            occupancy_occupy(o, plan->reserved[i].controller, &plan->reserved[i].block, KEY_NO_BOUND,
                             STARTS_NOW);
    occupancy_index(o);
}

static uint64_t cost_of(const struct search *s, const struct forecast_running *r)
{
    int64_t since = r->checkpoint_s > r->start_s ? r->checkpoint_s : r->start_s, lost;
    uint64_t cost;

    if (r->is_leaving)
        return 0;
    if (__builtin_sub_overflow(s->input->now_s, since, &lost) || lost < 0)
        lost = 0;
    return __builtin_mul_overflow((uint64_t)lost + r->restart_s, r->size, &cost) ? UINT64_MAX : cost;
}

static bool may_end(const struct search *s, const struct forecast_running *r)
{
    int64_t run;

    if (r->is_leaving)
        return true;
    if (__builtin_sub_overflow(s->input->now_s, r->start_s, &run) || run < s->least_run_s ||
        r->ns == FORECAST_NONE)
        return false;
    return s->kind == REMEDY_DEFRAGMENTATION || (r->is_restartable && r->priority < s->claim->priority);
}

/* One after the other, the largest first. */
static bool take_places(const struct search *s, const struct remedy *it)
{
    uint32_t sizes = 0;
    struct forecast_block place;

    for (uint32_t i = 0; i < it->victim_count; i++)
        sizes |= s->input->running[it->victims[i]].size;
    for (uint32_t size = 1u << 31; size > 0; size /= 2)
        for (uint32_t i = 0; sizes & size && i < it->victim_count; i++) {
            if (s->input->running[it->victims[i]].size != size)
                continue;
            if (!place_find(s->occupancy, it->controller, size, KEY_NO_BOUND, &place))
                return false;
            occupancy_take(s->occupancy, it->controller, &place, KEY_NO_BOUND, STARTS_NOW);
        }
    return true;
}

/* Outside the block and what is reserved. What it takes for that is free again afterwards: to lay out all
 * IPUs for each candidate would hold the caller for seconds. */
static bool fit_elsewhere(const struct search *s, const struct remedy *it)
{
    struct occupancy *o = s->occupancy;
    const struct room *r = &o->rooms[it->controller];
    const uint64_t *free = &s->free[r->first];
    bool fits;

    for (uint32_t d = it->block.domain; d < it->block.domain + it->block.domain_count; d++)
        occupancy_take(o, it->controller, &(struct forecast_block){d, 1, it->block.ipus & free[d]},
                       KEY_NO_BOUND, STARTS_NOW);
    fits = take_places(s, it);
    for (uint32_t d = 0; d < r->domain_count; d++) {
        struct forecast_block taken = {d, 1, free[d] & ~o->free[r->first + d]};

        if (taken.ipus)
            occupancy_release(o, it->controller, &taken);
    }
    return fits;
}

/* Rules a candidate out before fit_elsewhere tries it, which takes longer. */
static bool may_fit_elsewhere(const struct search *s, uint32_t c, const struct forecast_running *r)
{
    return s->kind == REMEDY_PREEMPTION || place_is_free(s->occupancy, c, r->size);
}

/* Adds the owners of the IPUs of one domain. False if one of them must not end, or fits nowhere else, or it
 * is no cheaper. */
static bool add_owners(struct search *s, struct remedy *it, uint32_t d)
{
    uint32_t at = s->occupancy->rooms[it->controller].first + d;

    if (it->block.ipus & ~s->occupancy->usable[at])
        return false;
    for (uint64_t left = it->block.ipus & ~s->occupancy->free[at]; left; left &= left - 1) {
        uint32_t owner = s->occupancy->slots[at * DOMAIN_IPUS + (uint32_t)__builtin_ctzll(left)];

        if (owner >= s->input->running_count || !may_end(s, &s->input->running[owner]))
            return false;
        if (s->seen[owner] == s->candidate)
            continue;
        s->seen[owner] = s->candidate;
        if (it->victim_count == REMEDY_VICTIMS_MAX ||
            __builtin_add_overflow(it->cost_ipu_s, cost_of(s, &s->input->running[owner]), &it->cost_ipu_s) ||
            it->cost_ipu_s >= s->best->cost_ipu_s ||
            !may_fit_elsewhere(s, it->controller, &s->input->running[owner]))
            return false;
        it->is_agreed =
            it->is_agreed && (s->input->running[owner].is_restartable || s->input->running[owner].is_leaving);
        it->victims[it->victim_count++] = owner;
    }
    return true;
}

static void try_block(struct search *s, uint32_t c, struct forecast_block block)
{
    struct remedy it = {.controller = c, .block = block, .is_agreed = true};

    s->candidate++;
    for (uint32_t d = block.domain; d < block.domain + block.domain_count; d++)
        if (!add_owners(s, &it, d))
            return;
    if (it.victim_count > 0 && (s->kind == REMEDY_PREEMPTION || fit_elsewhere(s, &it)))
        *s->best = it;
}

static void try_controller(struct search *s, uint32_t c)
{
    const struct room *r = &s->occupancy->rooms[c];
    uint32_t size = s->claim->size, domains = size / r->ipus_per_domain,
             part = domains ? r->ipus_per_domain : size;

    for (uint32_t d = 0; d < r->domain_count; d++)
        for (uint32_t start = 0; start < r->ipus_per_domain; start += part) {
            struct forecast_block block = {d, domains ? domains : 1, block_ipus(start, part)};

            if (place_is_valid(s->occupancy, c, &block, size))
                try_block(s, c, block);
        }
}

static uint64_t gain_of(const struct search *s)
{
    uint64_t gain;

    for (size_t i = 0; i < s->plan->reserved_count; i++) {
        const struct forecast_reservation *r = &s->plan->reserved[i];

        if (r->claim == s->number && r->start_s != FORECAST_UNKNOWN)
            return __builtin_mul_overflow((uint64_t)(r->start_s - s->input->now_s), s->claim->size, &gain)
                       ? UINT64_MAX
                       : gain;
    }
    return UINT64_MAX;
}

bool remedy_find(const struct forecast_input *input, const struct forecast_plan *plan, uint32_t claim,
                 enum remedy_kind kind, int64_t least_run_s, struct remedy *ret)
{
    struct occupancy o;
    AUTO(mem) void *memory = mem_alloc(occupancy_lay_out(&o, input, NULL));
    AUTO(mem) uint32_t *seen = mem_alloc(input->running_count * sizeof(*seen));
    AUTO(mem) uint64_t *free = NULL;
    struct search s = {input, plan, &input->claims[claim], claim, kind, least_run_s, &o, NULL, seen, 0, ret};

    *ret = (struct remedy){.cost_ipu_s = UINT64_MAX};
    if (s.claim->size == 0)
        return false;
    occupancy_lay_out(&o, input, memory);
    occupy(&o, input, plan, claim);
    s.free = free = mem_dup(o.free, o.domain_count * sizeof(*free));
    for (uint32_t c = 0; c < o.room_count; c++)
        if (s.claim->eligible >> c & 1 && input->controllers[c].is_usable && o.rooms[c].is_placed)
            try_controller(&s, c);
    if (ret->victim_count == 0)
        return false;
    ret->gain_ipu_s = gain_of(&s);
    return kind == REMEDY_PREEMPTION || ret->gain_ipu_s / REMEDY_GAIN_FACTOR > ret->cost_ipu_s;
}
