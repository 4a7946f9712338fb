#include "operator/forecast/place/place.h"

#include <string.h>

/* Parts of a domain are powers of two; what is larger has whole domains. */
static bool is_size(const struct room *r, uint32_t size, uint32_t *ret_domains)
{
    *ret_domains = size >= r->ipus_per_domain ? size >> r->top : 0;
    if (size < r->ipus_per_domain)
        return size > 0 && (size & (size - 1)) == 0;
    return (size & (r->ipus_per_domain - 1)) == 0 && *ret_domains <= r->domain_count;
}

static unsigned order_of(uint32_t size)
{
    return (unsigned)__builtin_ctz(size);
}

static struct forecast_block part_of(uint32_t domain, unsigned start, uint32_t size)
{
    return (struct forecast_block){domain, 1, block_ipus(start, size)};
}

static struct forecast_block whole_domains(const struct room *r, uint32_t domain, uint32_t count)
{
    return (struct forecast_block){domain, count, block_ipus(0, r->ipus_per_domain)};
}

bool place_is_possible(const struct forecast_controller *c, uint32_t size)
{
    uint32_t ipus = c->ipus_per_domain >= DOMAIN_IPUS ? DOMAIN_IPUS : c->ipus_per_domain | 1;
    struct room r = {.top = (uint32_t)(31 - __builtin_clz(ipus)), .domain_count = c->domain_count};
    uint32_t domains, run = 0;

    if (!c->is_placed)
        return size > 0 && size <= c->total_ipus;
    r.ipus_per_domain = 1u << r.top;
    if (!is_size(&r, size, &domains))
        return false;
    for (uint32_t d = 0; d < r.domain_count && d < FORECAST_DOMAINS_MAX; d++) {
        uint64_t ipus_here = c->domains[d] & block_ipus(0, r.ipus_per_domain);

        if (domains <= 1 && blocks_within(ipus_here, order_of(size)))
            return true;
        run = ipus_here == block_ipus(0, r.ipus_per_domain) ? run + 1 : 0;
        if (domains > 1 && run >= domains)
            return true;
    }
    return false;
}

/* ---- now ---- */

uint32_t place_free_ipus(const struct occupancy *o, uint32_t room, const struct forecast_block *block)
{
    uint32_t free = 0, first = o->rooms[room].first + block->domain;

    for (uint32_t d = first; d < first + block->domain_count; d++)
        free += (uint32_t)__builtin_popcountll(o->free[d] & block->ipus);
    return free;
}

/* The free IPUs of a domain that a claim with this end may use. */
static uint64_t allowed_ipus(const struct occupancy *o, const struct room *r, uint32_t d, uint32_t end,
                             bool with_open)
{
    uint64_t ipus = o->free[r->first + d];

    if (!(ipus & o->fenced[r->first + d]))
        return ipus;
    for (uint32_t i = 0; i < r->fence_count; i++) {
        const struct fence *f = &r->fences[i];

        if (d - f->block.domain < f->block.domain_count &&
            (f->limit == KEY_GONE ? !with_open : end > f->limit))
            ipus &= ~f->block.ipus;
    }
    return ipus;
}

struct search {
    const struct occupancy *o;
    const struct room *r;
    uint32_t size, end;
    bool with_open;
    const uint64_t *lone[DOMAIN_ORDERS]; /* as in the occupancy, with what the claim may use of fences */
    uint64_t own[DOMAIN_ORDERS][DOMAINS_WORDS_MAX];
};

static void search_begin(struct search *s, const struct occupancy *o, uint32_t room)
{
    const struct room *r = s->r = &o->rooms[room];
    bool is_own = false;

    s->o = o;
    for (unsigned order = 0; order < DOMAIN_ORDERS; order++)
        s->lone[order] = lone_set(o, room, order);
    for (uint32_t i = 0; i < r->fence_count; i++) {
        const struct fence *f = &r->fences[i];

        if ((f->limit == KEY_GONE ? !s->with_open : s->end > f->limit) ||
            place_free_ipus(o, room, &f->block) == 0)
            continue;
        if (!is_own)
            memcpy(s->own, s->lone[0], sizeof(s->own));
        is_own = true;
        for (uint32_t d = f->block.domain; d < f->block.domain + f->block.domain_count; d++)
            lone_mark(s->own[0], d, r->top, allowed_ipus(o, r, d, s->end, s->with_open));
    }
    for (unsigned order = 0; is_own && order < DOMAIN_ORDERS; order++)
        s->lone[order] = s->own[order];
}

/* By how much the claim keeps the domain in use longer; more for a domain without a known end. */
static uint32_t lengthens(const struct search *s, uint32_t d)
{
    uint32_t latest = s->o->keys[(s->r->first + d) * DOMAIN_BLOCKS + (DOMAIN_IPUS >> s->r->top)];

    return s->end > latest ? s->end - latest : 0;
}

static bool find_in_part(const struct search *s, unsigned order, bool may_lengthen,
                         struct forecast_block *ret)
{
    uint32_t best = 0, best_longer = 0, best_free = 0;
    bool found = false;

    for (uint32_t w = 0; w < s->r->words; w++)
        for (uint64_t left = s->lone[order][w]; left; left &= left - 1) {
            uint32_t d = w * 64 + (uint32_t)__builtin_ctzll(left), longer = lengthens(s, d), free;

            if (found ? longer > best_longer : longer > 0 && !may_lengthen)
                continue;
            free = (uint32_t)__builtin_popcountll(s->o->free[s->r->first + d]);
            if (found && longer == best_longer && free >= best_free)
                continue;
            best = d;
            best_longer = longer;
            best_free = free;
            found = true;
        }
    if (found) {
        uint64_t blocks = lone_blocks_within(allowed_ipus(s->o, s->r, best, s->end, s->with_open), order);

        *ret = part_of(best, (unsigned)__builtin_ctzll(blocks), s->size);
    }
    return found;
}

/* The begin of the shortest run of domains of the set that is long enough. */
static bool find_run(const uint64_t *set, uint32_t words, uint32_t count, uint32_t *ret)
{
    uint32_t best = UINT32_MAX, run = 0;

    for (uint32_t w = 0; w <= words; w++) {
        uint64_t left = w < words ? set[w] : 0;

        for (uint32_t at = 0; at < 64;) {
            uint32_t free_here = ~left ? (uint32_t)__builtin_ctzll(~left) : 64;

            run += free_here;
            at += free_here;
            if (at >= 64)
                break; /* it may go on in the next word */
            if (run >= count && run < best) {
                best = run;
                *ret = w * 64 + at - run;
            }
            run = 0;
            left >>= free_here;
            if (left == 0)
                break;
            at += (uint32_t)__builtin_ctzll(left);
            left >>= __builtin_ctzll(left);
        }
    }
    return best != UINT32_MAX;
}

static bool find_block(struct search *s, const struct occupancy *o, uint32_t room, uint32_t domains,
                       struct forecast_block *ret)
{
    uint32_t first;

    search_begin(s, o, room);
    for (int may_lengthen = 0; may_lengthen <= 1 && domains == 0; may_lengthen++)
        for (unsigned order = order_of(s->size); order < s->r->top; order++)
            if (find_in_part(s, order, may_lengthen, ret))
                return true;
    if (!find_run(s->lone[s->r->top], s->r->words, domains ? domains : 1, &first))
        return false;
    *ret = domains ? whole_domains(s->r, first, domains) : part_of(first, 0, s->size);
    return true;
}

bool place_find(const struct occupancy *o, uint32_t room, uint32_t size, uint32_t end,
                struct forecast_block *ret)
{
    const struct room *r = &o->rooms[room];
    struct search s;
    uint32_t domains;
    bool has_open = false;

    if (r->free_ipus < size)
        return false;
    if (!r->is_placed) {
        *ret = (struct forecast_block){0};
        return true;
    }
    if (!is_size(r, size, &domains) || domains > r->whole_free)
        return false;
    s.size = size;
    s.end = end;
    s.with_open = false;
    if (find_block(&s, o, room, domains, ret))
        return true;
    for (uint32_t i = 0; i < r->fence_count; i++)
        has_open = has_open || r->fences[i].limit == KEY_GONE;
    s.with_open = true;
    return has_open && find_block(&s, o, room, domains, ret);
}

static bool is_free_outside_fences(const struct occupancy *o, uint32_t room, unsigned order)
{
    for (; order <= o->rooms[room].top; order++)
        for (uint32_t w = 0; w < o->rooms[room].words; w++)
            if (lone_set(o, room, order)[w])
                return true;
    return false;
}

/* Whether so many consecutive domains are free, kept for a claim or not. */
static bool is_run_free(const struct occupancy *o, uint32_t room, uint32_t count)
{
    const struct room *r = &o->rooms[room];
    uint64_t free[DOMAINS_WORDS_MAX], whole = block_ipus(0, r->ipus_per_domain);
    uint32_t begin;

    memcpy(free, lone_set(o, room, r->top), r->words * sizeof(*free));
    for (uint32_t i = 0; i < r->fence_count; i++) {
        const struct forecast_block *kept = &r->fences[i].block;

        for (uint32_t d = kept->domain; d < kept->domain + kept->domain_count; d++)
            if (o->free[r->first + d] == whole)
                free[d / 64] |= (uint64_t)1 << d % 64;
    }
    return find_run(free, r->words, count, &begin);
}

/* In a domain of the fence, for who may start in it. */
static bool is_free_in_fence(const struct occupancy *o, const struct room *r, const struct fence *f,
                             unsigned order)
{
    for (uint32_t d = f->block.domain; d < f->block.domain + f->block.domain_count; d++)
        if (blocks_within(allowed_ipus(o, r, d, f->limit, f->limit == KEY_GONE), order))
            return true;
    return false;
}

uint32_t place_limit(const struct occupancy *o, uint32_t room, uint32_t size)
{
    const struct room *r = &o->rooms[room];
    struct forecast_block block;
    uint32_t limit = 0, domains;

    if (r->free_ipus < size)
        return 0;
    if (!r->is_placed)
        return KEY_GONE;
    if (!is_size(r, size, &domains) || domains > r->whole_free ||
        (domains > 1 && !is_run_free(o, room, domains)))
        return 0;
    if (domains > 1 ? place_find(o, room, size, KEY_GONE - 1, &block)
                    : is_free_outside_fences(o, room, order_of(size)))
        return KEY_GONE;
    for (uint32_t i = 0; i < r->fence_count; i++) {
        const struct fence *f = &r->fences[i];

        if (f->limit > limit && (domains > 1 ? place_find(o, room, size, f->limit, &block)
                                             : is_free_in_fence(o, r, f, order_of(size))))
            limit = f->limit;
    }
    return limit;
}

bool place_is_free(const struct occupancy *o, uint32_t room, uint32_t size)
{
    const struct room *r = &o->rooms[room];
    uint32_t domains;

    if (r->free_ipus < size || !r->is_placed || !is_size(r, size, &domains))
        return !r->is_placed && r->free_ipus >= size;
    if (domains)
        return is_run_free(o, room, domains);
    for (uint32_t d = r->first; d < r->first + r->domain_count; d++)
        if (blocks_within(o->free[d], order_of(size)))
            return true;
    return false;
}

/* ---- later ---- */

/* A key no less than the ends of the claims that earlier fences keep these IPUs of domain d for. */
static uint32_t after_fences(const struct room *r, uint32_t d, uint64_t ipus, uint32_t key)
{
    for (uint32_t i = 0; i < r->fence_count; i++) {
        const struct fence *f = &r->fences[i];

        if (f->block.ipus & ipus && d - f->block.domain < f->block.domain_count && f->until > key)
            key = f->until;
    }
    return key;
}

static uint32_t part_key(const struct occupancy *o, const struct room *r, uint32_t d, uint32_t number,
                         unsigned order)
{
    uint32_t key = o->keys[(r->first + d) * DOMAIN_BLOCKS + number];

    if (!o->fenced[r->first + d] || key == KEY_GONE)
        return key;
    return after_fences(r, d, block_ipus((number - (DOMAIN_IPUS >> order)) << order, 1u << order), key);
}

bool place_is_valid(const struct occupancy *o, uint32_t room, const struct forecast_block *block,
                    uint32_t size)
{
    const struct room *r = &o->rooms[room];
    uint32_t domains, start = block->ipus ? (uint32_t)__builtin_ctzll(block->ipus) : 0;

    if (!r->is_placed || !is_size(r, size, &domains) || block->domain >= r->domain_count)
        return false;
    if (domains)
        return block->domain_count == domains && domains <= r->domain_count - block->domain &&
               block->ipus == block_ipus(0, r->ipus_per_domain);
    return block->domain_count == 1 && start % size == 0 && block->ipus == block_ipus(start, size);
}

uint32_t place_key(const struct occupancy *o, uint32_t room, const struct forecast_block *block)
{
    const struct room *r = &o->rooms[room];
    unsigned order = order_of((uint32_t)__builtin_popcountll(block->ipus));
    uint32_t number = (DOMAIN_IPUS + (uint32_t)__builtin_ctzll(block->ipus)) >> order, key = 0;

    for (uint32_t d = block->domain; d < block->domain + block->domain_count; d++) {
        uint32_t here = part_key(o, r, d, number, order);

        key = here > key ? here : key;
    }
    return key;
}

struct choice {
    struct forecast_block block;
    uint32_t key, free;
};

static void consider(const struct occupancy *o, uint32_t room, struct forecast_block block, uint32_t key,
                     struct choice *best)
{
    uint32_t free;

    if (key == KEY_GONE || key > best->key)
        return;
    free = place_free_ipus(o, room, &block);
    if (key < best->key || free < best->free)
        *best = (struct choice){block, key, free};
}

/* Whether some run has a key that is not greater. */
static bool has_run(const struct occupancy *o, const struct room *r, uint32_t count, uint32_t key)
{
    const uint32_t *keys = &o->lowest[r->top * o->domain_count + r->first];
    uint32_t run = 0;

    for (uint32_t d = 0; d < r->domain_count && run < count; d++)
        run = keys[d] <= key ? run + 1 : 0;
    return run >= count;
}

static void consider_parts(const struct occupancy *o, uint32_t room, unsigned order, struct choice *best)
{
    const struct room *r = &o->rooms[room];
    const uint32_t *lowest = &o->lowest[order * o->domain_count + r->first];
    uint32_t first = DOMAIN_IPUS >> order;

    for (uint32_t d = 0; d < r->domain_count; d++) {
        if (lowest[d] > best->key || lowest[d] == KEY_GONE)
            continue;
        for (uint32_t b = first; b < 2 * first; b++) {
            uint32_t key = part_key(o, r, d, b, order);

            if (key <= best->key)
                consider(o, room, part_of(d, (b - first) << order, 1u << order), key, best);
        }
    }
}

/* The greatest key of each run of `count` domains in one pass over pieces of `count` domains: it is the
 * greater one of what is left of one piece and of the begin of the next one. */
static void consider_runs(const struct occupancy *o, uint32_t room, uint32_t count, struct choice *best)
{
    const struct room *r = &o->rooms[room];
    uint32_t begins[FORECAST_DOMAINS_MAX], rests[FORECAST_DOMAINS_MAX];

    for (uint32_t piece = 0; piece < r->domain_count; piece += count) {
        uint32_t end = piece + count < r->domain_count ? piece + count : r->domain_count;

        for (uint32_t d = piece, key = 0; d < end; d++) {
            rests[d] = part_key(o, r, d, DOMAIN_IPUS >> r->top, r->top);
            begins[d] = key = rests[d] > key ? rests[d] : key;
        }
        for (uint32_t d = end - 1; d > piece; d--)
            rests[d - 1] = rests[d] > rests[d - 1] ? rests[d] : rests[d - 1];
    }
    for (uint32_t d = 0; d + count <= r->domain_count; d++) {
        uint32_t begin = begins[d + count - 1], key = begin > rests[d] ? begin : rests[d];

        if (key <= best->key)
            consider(o, room, whole_domains(r, d, count), key, best);
    }
}

bool place_earliest(struct occupancy *o, uint32_t room, uint32_t size, uint32_t latest,
                    struct forecast_block *ret, uint32_t *ret_key)
{
    const struct room *r = &o->rooms[room];
    struct choice best = {.key = latest, .free = UINT32_MAX};
    uint32_t domains;

    if (!r->is_placed || !is_size(r, size, &domains))
        return false;
    if (!occupancy_may_have(o, room, domains ? r->top : order_of(size), latest))
        return false;
    if (domains <= 1)
        consider_parts(o, room, order_of(size), &best);
    else if (has_run(o, r, domains, latest))
        consider_runs(o, room, domains, &best);
    *ret = best.block;
    *ret_key = best.key;
    return best.free != UINT32_MAX;
}
