/* The bit arithmetic of placement against the plainest search there is. */
#include "lib/check.h"

#include <string.h>

#include "base/core/mem.h"
#include "vipu/model/blocks.h"
#include "vipu/model/partition.h"

/* splitmix64: the same numbers in each run. */
static uint64_t dice(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static bool is_free(const struct vipu_domain *d, uint32_t ipu)
{
    return (d->usable >> ipu & 1) && !(d->busy >> ipu & 1);
}

static bool fits_at(const struct vipu_domain *d, size_t first, uint32_t ilds, uint32_t start, uint32_t block)
{
    for (uint32_t i = 0; i < ilds; i++)
        for (uint32_t ipu = start; ipu < start + block; ipu++)
            if (!is_free(&d[first + i], ipu))
                return false;
    return true;
}

/* Size of the largest aligned free block that holds the one at start: what taking it would break up. */
static uint32_t broken(const struct vipu_domain *d, size_t first, uint32_t ilds, uint32_t start,
                       uint32_t block)
{
    while (block < VIPU_ILD_IPUS) {
        uint32_t above = start / (2 * block) * (2 * block);

        if (!fits_at(d, first, ilds, above, 2 * block))
            break;
        block *= 2;
        start = above;
    }
    return block;
}

static void check_find(const struct vipu_domain *d, size_t count, uint32_t size, uint32_t ilds)
{
    uint32_t block = size / ilds, best = UINT32_MAX, fit = 0;
    struct vipu_place place;
    bool found;

    for (size_t first = 0; first + ilds <= count; first++)
        for (uint32_t start = 0; start < VIPU_ILD_IPUS; start += block)
            if (fits_at(d, first, ilds, start, block)) {
                uint32_t cost = broken(d, first, ilds, start, block);

                best = cost < best ? cost : best;
                fit++;
            }
    found = vipu_place_find(d, count, size, ilds, &place);
    CHECK_INT_EQ(found, fit > 0);
    if (found) {
        CHECK(place.domain + ilds <= count && place.start % block == 0);
        CHECK(fits_at(d, place.domain, ilds, place.start, block));
        CHECK_INT_EQ(broken(d, place.domain, ilds, place.start, block), best);
    }
    CHECK_INT_EQ(vipu_place_count(d, count, size, ilds) > 0, found);
    if (ilds == 1)
        CHECK_INT_EQ(vipu_place_count(d, count, size, 1), fit);
}

TEST(a_find_is_what_a_plain_search_finds)
{
    uint64_t seed = 1;

    for (int round = 0; round < 4000; round++) {
        struct vipu_domain d[4];
        size_t count = 1 + dice(&seed) % COUNT_OF(d);

        for (size_t i = 0; i < count; i++) {
            uint64_t noise = dice(&seed) & dice(&seed);

            d[i].usable = dice(&seed) % 4 ? UINT64_MAX : UINT64_MAX >> (dice(&seed) % 64);
            d[i].busy = dice(&seed) % 3 ? noise : noise & dice(&seed) & dice(&seed);
        }
        for (uint32_t size = 1; size <= 256; size *= 2)
            for (uint32_t ilds = 1; ilds <= 4 && ilds <= count && ilds <= size; ilds *= 2)
                if (size / ilds <= VIPU_ILD_IPUS)
                    check_find(d, count, size, ilds);
    }
}

TEST(partitions_come_and_go_without_overlap_or_loss)
{
    struct vipu_domain d[3];
    struct {
        struct vipu_place at;
        uint32_t size;
    } held[200] = {0};
    uint64_t seed = 7;

    for (size_t i = 0; i < COUNT_OF(d); i++)
        d[i] = (struct vipu_domain){.usable = UINT64_MAX};
    for (int round = 0; round < 20000; round++) {
        size_t slot = dice(&seed) % COUNT_OF(held);
        uint32_t size = 1u << dice(&seed) % 7, used = 0, busy = 0;

        if (held[slot].size) {
            d[held[slot].at.domain].busy &= ~vipu_block_mask(held[slot].at.start, held[slot].size);
            held[slot].size = 0;
        } else if (vipu_place_find(d, COUNT_OF(d), size, 1, &held[slot].at)) {
            uint64_t block = vipu_block_mask(held[slot].at.start, size);

            CHECK((d[held[slot].at.domain].busy & block) == 0);
            d[held[slot].at.domain].busy |= block;
            held[slot].size = size;
        }
        for (size_t i = 0; i < COUNT_OF(held); i++)
            used += held[i].size;
        for (size_t i = 0; i < COUNT_OF(d); i++)
            busy += (uint32_t)__builtin_popcountll(d[i].busy);
        CHECK_INT_EQ(busy, used);
    }
}

TEST(shapes_that_are_none_fit_nowhere)
{
    struct vipu_domain d[2] = {{.usable = UINT64_MAX}, {.usable = UINT64_MAX}};
    static const struct {
        uint32_t size, ilds;
    } rows[] = {
        {0, 1}, {3, 1}, {128, 1}, {64, 0}, {64, 3}, {1, 2}, {256, 4}, {UINT32_MAX, 1}, {1u << 31, 1u << 31}};
    struct vipu_place place;

    CHECK_ROWS (row, rows) {
        CHECK(!vipu_place_find(d, COUNT_OF(d), row->size, row->ilds, &place));
        CHECK_INT_EQ(vipu_place_count(d, COUNT_OF(d), row->size, row->ilds), 0);
    }
}

TEST(a_small_partition_does_not_break_up_a_large_block)
{
    struct vipu_domain d[2] = {{.usable = UINT64_MAX}, {.usable = UINT64_MAX, .busy = 0xffffffffffff0000u}};
    struct vipu_place place;

    CHECK(vipu_place_find(d, COUNT_OF(d), 4, 1, &place));
    CHECK_INT_EQ(place.domain, 1);
    CHECK_INT_EQ(place.start, 0);
}

TEST(an_unusable_domain_ends_a_run)
{
    struct vipu_domain d[3] = {{.usable = UINT64_MAX}, {0}, {.usable = UINT64_MAX}};
    struct vipu_place place;

    CHECK(!vipu_place_find(d, COUNT_OF(d), 128, 2, &place));
    CHECK_INT_EQ(vipu_place_count(d, COUNT_OF(d), 64, 1), 2);
}
