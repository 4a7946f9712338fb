#include "vipu/placement/blocks.h"

#include <assert.h>
#include <string.h>

#include "base/core/mem.h"
#include "vipu/model/partition.h"
#include "vipu/placement/runs.h"
#include "vipu/model/shape.h"

/* Bits 0, s, 2s ... for s = 2^order. */
static const uint64_t aligned[] = {
    UINT64_MAX,          0x5555555555555555u, 0x1111111111111111u, 0x0101010101010101u,
    0x0001000100010001u, 0x0000000100000001u, 0x0000000000000001u,
};

#define TOP_ORDER 6u
#define WORD_BITS 64u

/* The sets of domains, each `words` long. First one per block, numbered as in a heap: the whole domain is 1,
 * the halves of block b are 2b and 2b + 1. Then, per order, the domains with a free block of that order that
 * is not inside a larger free one; then, per number of free IPUs, the domains that have that many. */
#define WHOLE 1u
#define SET_LONE (2 * VIPU_ILD_IPUS)
#define SET_FREE (SET_LONE + TOP_ORDER + 1)
#define SET_COUNT (SET_FREE + VIPU_ILD_IPUS + 1)

static uint64_t *set_of(const struct vipu_blocks *b, size_t set)
{
    return &b->sets[set * b->words];
}

static void toggle_domain(struct vipu_blocks *b, size_t set, size_t domain)
{
    set_of(b, set)[domain / WORD_BITS] ^= (uint64_t)1 << domain % WORD_BITS;
}

static size_t block_number(unsigned order, uint32_t start)
{
    return (VIPU_ILD_IPUS + start) >> order;
}

/* The number of the first block of an order; there are as many blocks of that order. */
static size_t first_block(unsigned order)
{
    return (size_t)VIPU_ILD_IPUS >> order;
}

/* Starts of free blocks one order up: both halves are free, and the start is aligned for the double size. */
static uint64_t next_order(uint64_t starts, unsigned order)
{
    return order < TOP_ORDER ? starts & (starts >> (1u << order)) & aligned[order + 1] : 0;
}

/* The blocks that are not halves of the free blocks one order up. */
static uint64_t unpaired_blocks(uint64_t starts, uint64_t above, unsigned order)
{
    return order < TOP_ORDER ? starts & ~(above | above << (1u << order)) : starts;
}

void vipu_blocks_init(struct vipu_blocks *blocks, size_t domain_count)
{
    *blocks = (struct vipu_blocks){
        .domain_count = domain_count,
        .words = domain_count > WORD_BITS ? (domain_count - 1) / WORD_BITS + 1 : 1,
    };
    blocks->free = mem_alloc((domain_count + 1) * sizeof(*blocks->free));
    blocks->sets = mem_alloc(SET_COUNT * blocks->words * sizeof(*blocks->sets));
    for (size_t d = 0; d < domain_count; d++)
        toggle_domain(blocks, SET_FREE, d);
}

void vipu_blocks_release(struct vipu_blocks *blocks)
{
    mem_free(blocks->free);
    mem_free(blocks->sets);
    *blocks = (struct vipu_blocks){0};
}

struct vipu_blocks vipu_blocks_copy(const struct vipu_blocks *from)
{
    struct vipu_blocks copy = *from;

    copy.free = mem_dup(from->free, (from->domain_count + 1) * sizeof(*from->free));
    copy.sets = mem_dup(from->sets, SET_COUNT * from->words * sizeof(*from->sets));
    return copy;
}

/* Neighbours in one word of each set that have the same free IPUs before and after a change. */
struct group {
    size_t first, count;
    uint64_t was, is;
};

static uint64_t group_bits(const struct group *g)
{
    return UINT64_MAX >> (WORD_BITS - g->count) << g->first % WORD_BITS;
}

static void flip_group(struct vipu_blocks *b, size_t set, const struct group *g)
{
    set_of(b, set)[g->first / WORD_BITS] ^= group_bits(g);
}

/* Updates which blocks of one order are free, where that differs. */
static void set_order(struct vipu_blocks *b, unsigned order, const struct group *g, uint64_t was, uint64_t is)
{
    uint64_t *word = &b->sets[g->first / WORD_BITS], bits = group_bits(g);
    uint32_t freed = 0, gone = 0;

    for (uint64_t changed = was ^ is; changed; changed &= changed - 1) {
        uint32_t start = (uint32_t)__builtin_ctzll(changed);

        word[block_number(order, start) * b->words] ^= bits;
        freed += (uint32_t)(is >> start & 1);
        gone += (uint32_t)(was >> start & 1);
    }
    b->count_by_order[order] += (uint32_t)g->count * freed - (uint32_t)g->count * gone;
}

static void set_group(struct vipu_blocks *b, const struct group *g)
{
    uint64_t was = g->was, is = g->is;

    flip_group(b, SET_FREE + (size_t)__builtin_popcountll(was), g);
    flip_group(b, SET_FREE + (size_t)__builtin_popcountll(is), g);
    for (unsigned order = 0; order <= TOP_ORDER && was != is; order++) {
        uint64_t was_above = next_order(was, order), is_above = next_order(is, order);

        set_order(b, order, g, was, is);
        if (!unpaired_blocks(was, was_above, order) != !unpaired_blocks(is, is_above, order))
            flip_group(b, SET_LONE + order, g);
        was = was_above;
        is = is_above;
    }
}

void vipu_blocks_set_run(struct vipu_blocks *b, size_t first, size_t count, const uint64_t *ipus)
{
    struct group g;

    for (size_t d = 0; d < count; d += g.count) {
        g = (struct group){first + d, 1, b->free[first + d], ipus[d]};
        while (d + g.count < count && (g.first + g.count) % WORD_BITS != 0 &&
               b->free[g.first + g.count] == g.was && ipus[d + g.count] == g.is)
            g.count++;
        if (g.was != g.is)
            set_group(b, &g);
    }
    memcpy(&b->free[first], ipus, count * sizeof(*ipus));
}

void vipu_blocks_set_free(struct vipu_blocks *b, size_t domain, uint64_t ipus)
{
    vipu_blocks_set_run(b, domain, 1, &ipus);
}

uint32_t vipu_blocks_free(const struct vipu_blocks *blocks)
{
    return blocks->count_by_order[0];
}

static bool is_shape(const struct vipu_blocks *b, uint32_t size, uint32_t num_ilds, unsigned *order)
{
    if (!vipu_is_power_of_two(size) || !vipu_is_power_of_two(num_ilds) || num_ilds > b->domain_count ||
        num_ilds > size || size / num_ilds > VIPU_ILD_IPUS)
        return false;
    *order = (unsigned)__builtin_ctz(size / num_ilds);
    return true;
}

/* ---- one domain ---- */

static bool first_of_both(const struct vipu_blocks *b, size_t set, size_t other, size_t *ret)
{
    const uint64_t *x = set_of(b, set), *y = set_of(b, other);

    for (size_t w = 0; w < b->words; w++) {
        if (x[w] & y[w]) {
            *ret = w * WORD_BITS + (size_t)__builtin_ctzll(x[w] & y[w]);
            return true;
        }
    }
    return false;
}

static bool is_empty(const struct vipu_blocks *b, size_t set)
{
    size_t domain;

    return !first_of_both(b, set, set, &domain);
}

static uint32_t lone_start(uint64_t starts, unsigned order)
{
    uint64_t above;

    for (unsigned o = 0; o < order; o++)
        starts = next_order(starts, o);
    above = next_order(starts, order);
    return (uint32_t)__builtin_ctzll(unpaired_blocks(starts, above, order));
}

static bool find_in_parts(const struct vipu_blocks *b, unsigned want, struct vipu_place *ret)
{
    for (unsigned order = want; order < TOP_ORDER; order++) {
        if (is_empty(b, SET_LONE + order))
            continue;
        for (uint32_t free = 1u << order; free < VIPU_ILD_IPUS; free++) {
            if (first_of_both(b, SET_LONE + order, SET_FREE + free, &ret->domain)) {
                ret->start = lone_start(b->free[ret->domain], order);
                ret->parent_block_size = 1u << order;
                return true;
            }
        }
    }
    return false;
}

/* ---- runs of domains ---- */

/* For each block of at least `want`, by its number: where a run of num_ilds domains with it free starts. The
 * caller frees it. */
static uint64_t *runs_of(const struct vipu_blocks *b, unsigned want, uint32_t num_ilds)
{
    size_t blocks = 2 * first_block(want);
    uint64_t *runs = mem_dup(b->sets, blocks * b->words * sizeof(*runs));

    for (size_t block = 1; block < blocks; block++)
        vipu_runs_keep_begins(&runs[block * b->words], b->words, num_ilds);
    return runs;
}

/* The first domain where a placement starts its run, is cut from a free block whose runs are in `holder`,
 * and is not in `larger`. */
static bool first_begin(size_t words, const uint64_t *place, const uint64_t *holder, const uint64_t *larger,
                        size_t *ret)
{
    for (size_t w = 0; w < words; w++) {
        uint64_t before = place[w] << 1 | (w > 0 ? place[w - 1] >> (WORD_BITS - 1) : 0);
        uint64_t begins = place[w] & ~before & holder[w] & ~larger[w];

        if (begins) {
            *ret = w * WORD_BITS + (size_t)__builtin_ctzll(begins);
            return true;
        }
    }
    return false;
}

/* A placement cut from free blocks of that order. `larger`: the larger free blocks, or NULL for the blocks
 * one order up. */
static bool find_at_order(const struct vipu_blocks *b, const uint64_t *runs, unsigned want, unsigned order,
                          const uint64_t *larger, struct vipu_place *ret)
{
    size_t first = first_block(want), domain;
    bool found = false;

    for (size_t block = first; block < 2 * first; block++) {
        size_t holder = block >> (order - want);

        if (first_begin(b->words, &runs[block * b->words], &runs[holder * b->words],
                        larger ? larger : &runs[holder / 2 * b->words], &domain) &&
            (!found || domain < ret->domain)) {
            *ret = (struct vipu_place){domain, (uint32_t)(block - first) << want, 1u << order};
            found = true;
        }
    }
    return found;
}

/* A placement in wholly free domains: in a run of them that contains no larger power of two than necessary.
 */
static bool find_in_whole(const struct vipu_blocks *b, const uint64_t *runs, unsigned want, uint32_t num_ilds,
                          struct vipu_place *ret)
{
    AUTO(mem) uint64_t *larger = mem_alloc(b->words * sizeof(*larger));

    for (uint32_t span = num_ilds; span <= b->count_by_order[TOP_ORDER]; span *= 2) {
        memcpy(larger, set_of(b, WHOLE), b->words * sizeof(*larger));
        vipu_runs_keep_long(larger, b->words, 2 * span);
        if (find_at_order(b, runs, want, TOP_ORDER, larger, ret)) {
            ret->parent_block_size = span * VIPU_ILD_IPUS;
            return true;
        }
    }
    return false;
}

static bool find_in_one(const struct vipu_blocks *b, unsigned want, struct vipu_place *ret)
{
    return find_in_parts(b, want, ret) || find_in_whole(b, b->sets, TOP_ORDER, 1, ret);
}

static bool find_in_several(const struct vipu_blocks *b, unsigned want, uint32_t num_ilds,
                            struct vipu_place *ret)
{
    AUTO(mem) uint64_t *runs = runs_of(b, want, num_ilds);

    for (unsigned order = want; order < TOP_ORDER; order++)
        if (find_at_order(b, runs, want, order, NULL, ret))
            return true;
    return find_in_whole(b, runs, want, num_ilds, ret);
}

bool vipu_blocks_find(const struct vipu_blocks *blocks, uint32_t size, uint32_t num_ilds,
                      struct vipu_place *ret)
{
    unsigned order;

    if (!is_shape(blocks, size, num_ilds, &order) || blocks->count_by_order[order] < num_ilds)
        return false;
    return num_ilds == 1 ? find_in_one(blocks, order, ret) : find_in_several(blocks, order, num_ilds, ret);
}

uint32_t vipu_blocks_count(const struct vipu_blocks *blocks, uint32_t size, uint32_t num_ilds)
{
    AUTO(mem) uint64_t *runs = NULL;
    unsigned order;
    uint32_t count = 0;

    if (!is_shape(blocks, size, num_ilds, &order) || blocks->count_by_order[order] < num_ilds)
        return 0;
    if (num_ilds == 1)
        return blocks->count_by_order[order];
    runs = runs_of(blocks, order, num_ilds);
    for (size_t block = first_block(order); block < 2 * first_block(order); block++)
        count += vipu_runs_count(&runs[block * blocks->words], blocks->words, num_ilds);
    return count;
}

/* Whether some block of that order has a run of free domains. */
static bool has_run(const struct vipu_blocks *b, unsigned order, uint32_t length)
{
    AUTO(mem) uint64_t *set = mem_alloc(b->words * sizeof(*set));
    size_t first = first_block(order);
    bool found = false;

    for (size_t block = first; block < 2 * first && !found; block++) {
        memcpy(set, set_of(b, block), b->words * sizeof(*set));
        found = vipu_runs_keep_begins(set, b->words, length);
    }
    return found;
}

uint32_t vipu_blocks_largest(const struct vipu_blocks *blocks)
{
    uint32_t largest = 0;

    for (unsigned order = TOP_ORDER + 1; order-- > 0;) {
        uint32_t ilds = (largest >> order) + 1; /* fewer would not increase the number */

        while (ilds & (ilds - 1))
            ilds += ilds & -ilds;
        for (; ilds <= blocks->count_by_order[order] && has_run(blocks, order, ilds); ilds *= 2)
            largest = ilds << order;
    }
    return largest;
}

void vipu_blocks_reserve(struct vipu_blocks *blocks, const struct vipu_place *place, uint32_t size,
                         uint32_t num_ilds)
{
    uint64_t block = vipu_block_mask(place->start, size / num_ilds);

    for (size_t d = place->domain; d < place->domain + num_ilds; d++) {
        assert((blocks->free[d] & block) == block);
        vipu_blocks_set_free(blocks, d, blocks->free[d] & ~block);
    }
}
