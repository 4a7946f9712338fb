/* The sets of free blocks against the plainest search there is. */
#include "lib/check.h"

#include "base/core/mem.h"
#include "unit/vipu/placement/random.h"
#include "vipu/placement/blocks.h"
#include "vipu/model/partition.h"

#define MAX_DOMAINS 9u

/* What the index should know. */
struct model {
    uint64_t free[MAX_DOMAINS];
    size_t count;
};

static bool is_whole(const struct model *m, size_t domain, uint32_t start, uint32_t block)
{
    for (uint32_t ipu = start; ipu < start + block; ipu++)
        if (!(m->free[domain] >> ipu & 1))
            return false;
    return true;
}

static bool fits_at(const struct model *m, size_t first, uint32_t ilds, uint32_t start, uint32_t block)
{
    for (uint32_t i = 0; i < ilds; i++)
        if (!is_whole(m, first + i, start, block))
            return false;
    return true;
}

/* Wholly free domains from this one on. */
static size_t whole_run(const struct model *m, size_t first)
{
    size_t end = first;

    while (end < m->count && m->free[end] == UINT64_MAX)
        end++;
    return end - first;
}

/* Size of the largest aligned free block that holds the one at start: what taking it would break up. */
static uint32_t broken(const struct model *m, size_t first, uint32_t ilds, uint32_t start, uint32_t block)
{
    while (block < VIPU_ILD_IPUS) {
        uint32_t above = start / (2 * block) * (2 * block);

        if (!fits_at(m, first, ilds, above, 2 * block))
            return block;
        block *= 2;
        start = above;
    }
    for (size_t span = 1; span <= whole_run(m, first); span *= 2)
        block = (uint32_t)span * VIPU_ILD_IPUS;
    return block;
}

static bool splits_a_run(const struct model *m, size_t first, uint32_t ilds, uint32_t start, uint32_t block)
{
    if (first == 0)
        return false;
    if (ilds > 1)
        return is_whole(m, first - 1, start, block);
    return m->free[first] == UINT64_MAX && m->free[first - 1] == UINT64_MAX;
}

static int free_ipus(const struct model *m, size_t domain)
{
    return __builtin_popcountll(m->free[domain]);
}

static bool is_better(const struct model *m, const struct vipu_place *a, const struct vipu_place *b,
                      uint32_t ilds)
{
    if (a->parent_block_size != b->parent_block_size)
        return a->parent_block_size < b->parent_block_size;
    if (ilds == 1 && free_ipus(m, a->domain) != free_ipus(m, b->domain))
        return free_ipus(m, a->domain) < free_ipus(m, b->domain);
    return a->domain != b->domain ? a->domain < b->domain : a->start < b->start;
}

/* The rule of blocks.h, place by place. */
static bool plain_find(const struct model *m, uint32_t size, uint32_t ilds, struct vipu_place *ret)
{
    uint32_t block = size / ilds;
    bool found = false;

    for (size_t first = 0; first + ilds <= m->count; first++) {
        for (uint32_t start = 0; start < VIPU_ILD_IPUS; start += block) {
            struct vipu_place place = {.domain = first, .start = start};

            if (splits_a_run(m, first, ilds, start, block) || !fits_at(m, first, ilds, start, block))
                continue;
            place.parent_block_size = broken(m, first, ilds, start, block);
            if (!found || is_better(m, &place, ret, ilds))
                *ret = place;
            found = true;
        }
    }
    return found;
}

/* As many as fit side by side: blocks do not overlap, and of a row the first window is never wrong. */
static uint32_t plain_count(const struct model *m, uint32_t size, uint32_t ilds)
{
    uint32_t block = size / ilds, count = 0;

    for (uint32_t start = 0; start < VIPU_ILD_IPUS; start += block) {
        for (size_t first = 0; first + ilds <= m->count;) {
            bool fits = fits_at(m, first, ilds, start, block);

            count += fits;
            first += fits ? ilds : 1;
        }
    }
    return count;
}

static struct vipu_blocks index_of(const struct model *m)
{
    struct vipu_blocks blocks;

    vipu_blocks_init(&blocks, m->count);
    for (size_t d = 0; d < m->count; d++)
        vipu_blocks_set_free(&blocks, d, m->free[d]);
    return blocks;
}

static void check_shape(const struct model *m, const struct vipu_blocks *blocks, uint32_t size, uint32_t ilds)
{
    struct vipu_place got, want;
    bool fits = plain_find(m, size, ilds, &want);

    CHECK_INT_EQ(vipu_blocks_find(blocks, size, ilds, &got), fits);
    CHECK_INT_EQ(vipu_blocks_count(blocks, size, ilds), plain_count(m, size, ilds));
    CHECK_INT_EQ(vipu_blocks_count(blocks, size, ilds) > 0, fits);
    if (fits) {
        CHECK_INT_EQ(got.parent_block_size, want.parent_block_size);
        CHECK_INT_EQ(got.domain, want.domain);
        CHECK_INT_EQ(got.start, want.start);
    }
}

static void check_shapes(const struct model *m, const struct vipu_blocks *blocks)
{
    uint32_t largest = 0;

    for (uint32_t ilds = 1; ilds <= m->count; ilds *= 2) {
        for (uint32_t block = 1; block <= VIPU_ILD_IPUS; block *= 2) {
            check_shape(m, blocks, ilds * block, ilds);
            if (plain_count(m, ilds * block, ilds) > 0 && ilds * block > largest)
                largest = ilds * block;
        }
    }
    CHECK_INT_EQ(vipu_blocks_largest(blocks), largest);
}

TEST(every_state_of_two_small_domains)
{
    struct model m = {.count = 2};
    AUTO(vipu_blocks) struct vipu_blocks blocks;

    vipu_blocks_init(&blocks, m.count);
    for (m.free[0] = 0; m.free[0] < 256; m.free[0]++) {
        vipu_blocks_set_free(&blocks, 0, m.free[0]);
        for (m.free[1] = 0; m.free[1] < 256; m.free[1]++) {
            vipu_blocks_set_free(&blocks, 1, m.free[1]);
            for (uint32_t ilds = 1; ilds <= 2; ilds++)
                for (uint32_t block = 1; block <= 8; block *= 2)
                    check_shape(&m, &blocks, ilds * block, ilds);
        }
    }
}

/* Whole blocks, noise, and domains of which little is left. */
static uint64_t some_free(uint64_t *seed)
{
    uint64_t noise = next_random(seed) | next_random(seed), mask = UINT64_MAX;

    for (uint64_t n = next_random(seed) % 6; n > 0; n--) {
        uint32_t block = 1u << next_random(seed) % 6;

        mask &= ~vipu_block_mask((uint32_t)(next_random(seed) % (64 / block)) * block, block);
    }
    return next_random(seed) % 4   ? mask
           : next_random(seed) % 2 ? mask & noise
                                   : UINT64_MAX >> next_random(seed) % 64;
}

TEST(a_find_is_what_a_plain_search_finds)
{
    for (size_t seed = 0; check_row("seed", seed, 600); seed++) {
        uint64_t state = seed;
        struct model m = {.count = 1 + next_random(&state) % MAX_DOMAINS};
        AUTO(vipu_blocks) struct vipu_blocks blocks = {0};

        for (size_t d = 0; d < m.count; d++)
            m.free[d] = next_random(&state) % 3 ? some_free(&state) : UINT64_MAX;
        blocks = index_of(&m);
        check_shapes(&m, &blocks);
    }
}

TEST(a_count_is_how_often_one_can_be_taken)
{
    for (size_t seed = 0; check_row("seed", seed, 300); seed++) {
        uint64_t state = 1000 + seed;
        struct model m = {.count = 1 + next_random(&state) % MAX_DOMAINS};
        uint32_t ilds = 1u << next_random(&state) % 3, size = ilds << next_random(&state) % 7;
        AUTO(vipu_blocks) struct vipu_blocks full = {0};
        AUTO(vipu_blocks) struct vipu_blocks left = {0};

        for (size_t d = 0; d < m.count; d++)
            m.free[d] = next_random(&state) % 2 ? some_free(&state) : UINT64_MAX;
        full = index_of(&m);
        left = vipu_blocks_copy(&full);
        for (uint32_t count = vipu_blocks_count(&full, size, ilds);; count--) {
            struct vipu_place place;

            CHECK_INT_EQ(vipu_blocks_count(&left, size, ilds), count);
            if (!vipu_blocks_find(&left, size, ilds, &place))
                break;
            vipu_blocks_reserve(&left, &place, size, ilds);
        }
        for (size_t d = 0; d < m.count; d++)
            CHECK(full.free[d] == m.free[d]); /* the copy was one */
    }
}

TEST(partitions_come_and_go_without_overlap_or_loss)
{
    struct {
        struct vipu_place at;
        uint32_t block, ilds;
    } held[120] = {0};
    struct model m = {.count = MAX_DOMAINS};
    AUTO(vipu_blocks) struct vipu_blocks blocks = {0};
    uint64_t state = 7;

    for (size_t d = 0; d < m.count; d++)
        m.free[d] = UINT64_MAX;
    blocks = index_of(&m);
    for (int round = 0; round < 20000; round++) {
        size_t slot = next_random(&state) % COUNT_OF(held);
        uint32_t ilds = 1u << next_random(&state) % 8 / 5, block = 1u << next_random(&state) % 7;

        if (held[slot].block) {
            uint64_t mask = vipu_block_mask(held[slot].at.start, held[slot].block);

            for (size_t d = held[slot].at.domain; d < held[slot].at.domain + held[slot].ilds; d++) {
                CHECK((m.free[d] & mask) == 0);
                m.free[d] |= mask;
                vipu_blocks_set_free(&blocks, d, blocks.free[d] | mask);
            }
            held[slot].block = 0;
        } else if (vipu_blocks_find(&blocks, ilds * block, ilds, &held[slot].at)) {
            held[slot].block = block;
            held[slot].ilds = ilds;
            vipu_blocks_reserve(&blocks, &held[slot].at, ilds * block, ilds);
            for (size_t d = held[slot].at.domain; d < held[slot].at.domain + ilds; d++) {
                CHECK(is_whole(&m, d, held[slot].at.start, block));
                m.free[d] &= ~vipu_block_mask(held[slot].at.start, block);
            }
        }
        for (size_t d = 0; d < m.count; d++)
            CHECK(blocks.free[d] == m.free[d]);
        if (round % 100 == 0)
            check_shapes(&m, &blocks);
    }
}

TEST(shapes_that_are_none_fit_nowhere)
{
    static const struct {
        uint32_t size, ilds;
    } rows[] = {
        {0, 1}, {3, 1}, {128, 1}, {64, 0}, {64, 3}, {1, 2}, {256, 4}, {UINT32_MAX, 1}, {1u << 31, 1u << 31}};
    struct model m = {.free = {UINT64_MAX, UINT64_MAX}, .count = 2};
    AUTO(vipu_blocks) struct vipu_blocks blocks = index_of(&m);
    struct vipu_place place;

    CHECK_ROWS (row, rows) {
        CHECK(!vipu_blocks_find(&blocks, row->size, row->ilds, &place));
        CHECK_INT_EQ(vipu_blocks_count(&blocks, row->size, row->ilds), 0);
    }
}

TEST(a_row_without_domains)
{
    AUTO(vipu_blocks) struct vipu_blocks blocks;
    struct vipu_place place;

    vipu_blocks_init(&blocks, 0);
    CHECK(!vipu_blocks_find(&blocks, 1, 1, &place));
    CHECK_INT_EQ(vipu_blocks_count(&blocks, 1, 1), 0);
    CHECK_INT_EQ(vipu_blocks_largest(&blocks), 0);
}

/* Each word of a set has 64 domains; runs cross from one to the next. */
TEST(more_domains_than_bits_in_a_word)
{
    AUTO(vipu_blocks) struct vipu_blocks blocks;
    struct vipu_place place;

    vipu_blocks_init(&blocks, 300);
    for (size_t d = 60; d < 130; d++)
        vipu_blocks_set_free(&blocks, d, UINT64_MAX);
    vipu_blocks_set_free(&blocks, 250, UINT64_MAX >> 32);
    CHECK(vipu_blocks_find(&blocks, 64 * 64, 64, &place));
    CHECK_INT_EQ(place.domain, 60);
    CHECK(vipu_blocks_find(&blocks, 16, 1, &place));
    CHECK_INT_EQ(place.domain, 250);
    CHECK_INT_EQ(vipu_blocks_count(&blocks, 8 * 64, 8), 8);
    CHECK_INT_EQ(vipu_blocks_count(&blocks, 128 * 64, 128), 0);
    CHECK_INT_EQ(vipu_blocks_largest(&blocks), 64 * 64);
    vipu_blocks_set_free(&blocks, 127, 0);
    CHECK_INT_EQ(vipu_blocks_largest(&blocks), 64 * 64);
    vipu_blocks_set_free(&blocks, 64, 0);
    CHECK_INT_EQ(vipu_blocks_largest(&blocks), 32 * 64);
}

/* Neighbours that are alike change together: it must come to the same as one after the other. */
TEST(a_run_is_set_as_its_domains_are)
{
    enum { DOMAINS = 150 };
    uint64_t state = 11, free[DOMAINS];
    AUTO(vipu_blocks) struct vipu_blocks runs = {0};
    AUTO(vipu_blocks) struct vipu_blocks single = {0};

    vipu_blocks_init(&runs, DOMAINS);
    vipu_blocks_init(&single, DOMAINS);
    for (int round = 0; round < 300; round++) {
        size_t first = next_random(&state) % DOMAINS, count = 1 + next_random(&state) % (DOMAINS - first);

        for (size_t d = 0; d < count; d++)
            free[d] = d > 0 && next_random(&state) % 8 ? free[d - 1] : some_free(&state);
        vipu_blocks_set_run(&runs, first, count, free);
        for (size_t d = 0; d < count; d++)
            vipu_blocks_set_free(&single, first + d, free[d]);
        for (uint32_t ilds = 1; ilds <= DOMAINS; ilds *= 2) {
            for (uint32_t block = 1; block <= VIPU_ILD_IPUS; block *= 2) {
                struct vipu_place a = {0}, b = {0};

                CHECK_INT_EQ(vipu_blocks_count(&runs, ilds * block, ilds),
                             vipu_blocks_count(&single, ilds * block, ilds));
                CHECK_INT_EQ(vipu_blocks_find(&runs, ilds * block, ilds, &a),
                             vipu_blocks_find(&single, ilds * block, ilds, &b));
                CHECK(a.domain == b.domain && a.start == b.start &&
                      a.parent_block_size == b.parent_block_size);
            }
        }
    }
}

TEST(a_small_partition_does_not_break_up_a_large_block)
{
    struct model m = {.free = {UINT64_MAX, 0xffff}, .count = 2};
    AUTO(vipu_blocks) struct vipu_blocks blocks = index_of(&m);
    struct vipu_place place;

    CHECK(vipu_blocks_find(&blocks, 4, 1, &place));
    CHECK_INT_EQ(place.domain, 1);
    CHECK_INT_EQ(place.start, 0);
    CHECK_INT_EQ(place.parent_block_size, 16);
}

TEST(the_fuller_domain_comes_first)
{
    struct model m = {.free = {0xff00000f, 0xffff000f, 0xf, 0xf00f}, .count = 4};
    AUTO(vipu_blocks) struct vipu_blocks blocks = index_of(&m);
    struct vipu_place place;

    CHECK(vipu_blocks_find(&blocks, 4, 1, &place));
    CHECK_INT_EQ(place.domain, 2);
    CHECK(vipu_blocks_find(&blocks, 8, 1, &place));
    CHECK_INT_EQ(place.domain, 0);
}

TEST(a_run_of_domains_is_kept_for_what_needs_it)
{
    struct model m = {
        .free = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, UINT64_MAX, UINT64_MAX, 0, UINT64_MAX},
        .count = 9};
    AUTO(vipu_blocks) struct vipu_blocks blocks = index_of(&m);
    static const struct {
        uint32_t size, ilds, domain, parent_block_size;
    } rows[] = {{64, 1, 8, 64}, {4, 1, 8, 64}, {128, 2, 5, 128}, {32, 2, 5, 128}, {256, 4, 0, 256}};
    struct vipu_place place;

    CHECK_ROWS (row, rows) {
        CHECK(vipu_blocks_find(&blocks, row->size, row->ilds, &place));
        CHECK_INT_EQ(place.domain, row->domain);
        CHECK_INT_EQ(place.parent_block_size, row->parent_block_size);
    }
}

TEST(an_empty_domain_ends_a_run)
{
    struct model m = {.free = {UINT64_MAX, 0, UINT64_MAX}, .count = 3};
    AUTO(vipu_blocks) struct vipu_blocks blocks = index_of(&m);
    struct vipu_place place;

    CHECK(!vipu_blocks_find(&blocks, 128, 2, &place));
    CHECK_INT_EQ(vipu_blocks_count(&blocks, 64, 1), 2);
}
