#include "vipu/model/blocks.h"

#include "vipu/model/partition.h"

/* Bits 0, s, 2s ... for s = 2^level. */
static const uint64_t aligned[] = {
    UINT64_MAX,          0x5555555555555555u, 0x1111111111111111u, 0x0101010101010101u,
    0x0001000100010001u, 0x0000000100000001u, 0x0000000000000001u,
};

#define TOP_LEVEL 6u

static bool is_power_of_two(uint32_t n)
{
    return n && (n & (n - 1)) == 0;
}

static unsigned level_of(uint32_t size)
{
    return (unsigned)__builtin_ctz(size);
}

uint64_t vipu_block_mask(uint32_t start, uint32_t size)
{
    return (UINT64_MAX >> (64 - size)) << start;
}

/* Starts of free blocks one level up: both halves are free, and the start is aligned for the double size. */
static uint64_t next_level(uint64_t starts, unsigned level)
{
    return starts & (starts >> (1u << level)) & aligned[level + 1];
}

static uint64_t starts_at(uint64_t free, unsigned level)
{
    for (unsigned l = 0; l < level; l++)
        free = next_level(free, l);
    return free;
}

uint64_t vipu_block_starts(uint64_t free, uint32_t size)
{
    return starts_at(free, level_of(size));
}

static bool is_shape(size_t count, uint32_t size, uint32_t num_ilds, unsigned *level)
{
    if (!is_power_of_two(size) || !is_power_of_two(num_ilds) || num_ilds > count || num_ilds > size ||
        size / num_ilds > VIPU_ILD_IPUS)
        return false;
    *level = level_of(size / num_ilds);
    return true;
}

static uint64_t window_free(const struct vipu_domain *first, uint32_t num_ilds)
{
    uint64_t free = UINT64_MAX;

    for (uint32_t i = 0; i < num_ilds; i++)
        free &= first[i].usable & ~first[i].busy;
    return free;
}

/* Level and start of the smallest free block that holds a block of `level`. TOP_LEVEL + 1 when there is none.
 */
static unsigned tightest(uint64_t free, unsigned level, uint32_t *ret_start)
{
    uint64_t starts = starts_at(free, level);

    while (starts && level < TOP_LEVEL) {
        uint64_t above = next_level(starts, level);
        uint64_t lone = starts & ~(above | above << (1u << level));

        if (lone) {
            starts = lone;
            break;
        }
        starts = above;
        level++;
    }
    if (!starts)
        return TOP_LEVEL + 1;
    *ret_start = (uint32_t)__builtin_ctzll(starts);
    return level;
}

bool vipu_place_find(const struct vipu_domain *domains, size_t count, uint32_t size, uint32_t num_ilds,
                     struct vipu_place *ret)
{
    unsigned want, best = TOP_LEVEL + 1;

    if (!is_shape(count, size, num_ilds, &want))
        return false;
    for (size_t d = 0; d + num_ilds <= count && best > want; d++) {
        uint32_t start;
        unsigned level = tightest(window_free(&domains[d], num_ilds), want, &start);

        if (level < best) {
            best = level;
            *ret = (struct vipu_place){.domain = d, .start = start};
        }
    }
    return best <= TOP_LEVEL;
}

uint32_t vipu_place_count(const struct vipu_domain *domains, size_t count, uint32_t size, uint32_t num_ilds)
{
    unsigned level;
    uint32_t fit = 0;

    if (!is_shape(count, size, num_ilds, &level))
        return 0;
    for (size_t d = 0; num_ilds == 1 && d < count; d++)
        fit += (uint32_t)__builtin_popcountll(starts_at(window_free(&domains[d], 1), level));
    for (uint32_t start = 0; num_ilds > 1 && start < VIPU_ILD_IPUS; start += 1u << level) {
        uint32_t run = 0;

        for (size_t d = 0; d < count; d++) {
            uint64_t block = vipu_block_mask(start, 1u << level);

            run = (domains[d].usable & ~domains[d].busy & block) == block ? run + 1 : 0;
            if (run == num_ilds) {
                fit++;
                run = 0;
            }
        }
    }
    return fit;
}
