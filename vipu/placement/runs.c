#include "vipu/placement/runs.h"

#define WORD_BITS 64u

/* Word w of a set moved down by `shift` domains. */
static uint64_t moved_down(const uint64_t *set, size_t words, size_t w, size_t shift)
{
    size_t from = w + shift / WORD_BITS, bits = shift % WORD_BITS;
    uint64_t low = from < words ? set[from] : 0, high = from + 1 < words ? set[from + 1] : 0;

    return bits ? low >> bits | high << (WORD_BITS - bits) : low;
}

/* The same, up. */
static uint64_t moved_up(const uint64_t *set, size_t w, size_t shift)
{
    size_t back = shift / WORD_BITS, bits = shift % WORD_BITS;
    uint64_t high = w >= back ? set[w - back] : 0, low = w > back ? set[w - back - 1] : 0;

    return bits ? high << bits | low >> (WORD_BITS - bits) : high;
}

bool vipu_runs_keep_begins(uint64_t *set, size_t words, uint32_t length)
{
    uint64_t any = 0;

    for (size_t w = 0; w < words; w++)
        any |= set[w];
    for (size_t shift = 1; shift < length && any; shift *= 2) {
        any = 0;
        for (size_t w = 0; w < words;
             w++) { /* ascending, in place: a word needs only itself and those after it */
            set[w] &= moved_down(set, words, w, shift);
            any |= set[w];
        }
    }
    return any != 0;
}

void vipu_runs_keep_long(uint64_t *set, size_t words, uint32_t length)
{
    if (!vipu_runs_keep_begins(set, words, length))
        return; /* then the set is empty */
    for (size_t shift = 1; shift < length; shift *= 2)
        for (size_t w = words; w-- > 0;) /* descending, in place */
            set[w] |= moved_up(set, w, shift);
}

uint32_t vipu_runs_count(const uint64_t *begins, size_t words, uint32_t length)
{
    uint32_t count = 0;

    for (size_t d = 0; d < words * WORD_BITS;) {
        uint64_t rest = begins[d / WORD_BITS] >> d % WORD_BITS;

        if (rest == 0) {
            d = (d / WORD_BITS + 1) * WORD_BITS;
            continue;
        }
        d += (size_t)__builtin_ctzll(rest) + length;
        count++;
    }
    return count;
}
