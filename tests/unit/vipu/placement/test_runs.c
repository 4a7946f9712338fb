/* Runs of members against a walk from one to the next. */
#include "lib/check.h"

#include <string.h>

#include "unit/vipu/placement/random.h"
#include "vipu/placement/runs.h"

#define WORDS 4u
#define BITS (WORDS * 64u)

static bool has(const uint64_t *set, size_t bit)
{
    return bit < BITS && (set[bit / 64] >> bit % 64 & 1);
}

/* Members from this one on. */
static size_t run_from(const uint64_t *set, size_t bit)
{
    size_t end = bit;

    while (has(set, end))
        end++;
    return end - bit;
}

static size_t run_around(const uint64_t *set, size_t bit)
{
    while (bit > 0 && has(set, bit - 1))
        bit--;
    return run_from(set, bit);
}

static uint32_t plain_count(const uint64_t *set, uint32_t length)
{
    uint32_t count = 0;

    for (size_t bit = 0; bit < BITS;) {
        bool fits = run_from(set, bit) >= length;

        count += fits;
        bit += fits ? length : 1;
    }
    return count;
}

/* Long and short runs, of which some cross from word to word. */
static void some_set(uint64_t *set, uint64_t *seed)
{
    memset(set, 0, WORDS * sizeof(*set));
    for (size_t bit = 0; bit < BITS;) {
        size_t end = bit + 1 + next_random(seed) % (next_random(seed) % 3 ? 5 : 150);
        bool is_member = next_random(seed) % 2;

        for (; bit < end && bit < BITS; bit++)
            set[bit / 64] |= (uint64_t)is_member << bit % 64;
    }
}

TEST(runs_of_every_length)
{
    for (size_t seed = 0; check_row("seed", seed, 500); seed++) {
        uint64_t state = seed, set[WORDS], begins[WORDS], members[WORDS];

        some_set(set, &state);
        for (uint32_t length = 1; length <= 2 * BITS; length *= 2) {
            bool is_any = false;

            memcpy(begins, set, sizeof(set));
            memcpy(members, set, sizeof(set));
            for (size_t bit = 0; bit < BITS; bit++)
                is_any = is_any || run_from(set, bit) >= length;
            CHECK_INT_EQ(vipu_runs_keep_begins(begins, WORDS, length), is_any);
            vipu_runs_keep_long(members, WORDS, length);
            for (size_t bit = 0; bit < BITS; bit++) {
                CHECK_INT_EQ(has(begins, bit), run_from(set, bit) >= length);
                CHECK_INT_EQ(has(members, bit), has(set, bit) && run_around(set, bit) >= length);
            }
            CHECK_INT_EQ(vipu_runs_count(begins, WORDS, length), plain_count(set, length));
        }
    }
}
