#include "operator/api/job/indexset.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"

static void reserve_words(struct indexset *set, size_t count)
{
    if (count <= set->word_count)
        return;
    set->words = mem_grow(set->words, count, sizeof(*set->words));
    memset(set->words + set->word_count, 0, (count - set->word_count) * sizeof(*set->words));
    set->word_count = count;
}

void indexset_add(struct indexset *set, uint32_t index)
{
    indexset_add_range(set, index, 1);
}

void indexset_add_range(struct indexset *set, uint32_t first, uint32_t count)
{
    uint32_t end = first < INDEXSET_MAX && count > INDEXSET_MAX - first ? INDEXSET_MAX : first + count;

    if (first >= INDEXSET_MAX || count == 0)
        return;
    reserve_words(set, (end + 63) / 64);
    for (uint32_t at = first; at < end; at = (at / 64 + 1) * 64) {
        uint64_t mask = UINT64_MAX << (at % 64);

        if (end - at / 64 * 64 < 64)
            mask &= ~(UINT64_MAX << (end % 64));
        set->words[at / 64] |= mask;
    }
}

void indexset_add_all(struct indexset *set, const struct indexset *other)
{
    reserve_words(set, other->word_count);
    for (size_t i = 0; i < other->word_count; i++)
        set->words[i] |= other->words[i];
}

void indexset_remove(struct indexset *set, uint32_t index)
{
    if (index / 64 < set->word_count)
        set->words[index / 64] &= ~(UINT64_C(1) << (index % 64));
}

void indexset_remove_all(struct indexset *set, const struct indexset *other)
{
    for (size_t i = 0; i < set->word_count && i < other->word_count; i++)
        set->words[i] &= ~other->words[i];
}

bool indexset_has(const struct indexset *set, uint32_t index)
{
    return index / 64 < set->word_count && (set->words[index / 64] >> (index % 64) & 1);
}

static uint64_t word_at(const struct indexset *set, size_t i)
{
    return i < set->word_count ? set->words[i] : 0;
}

bool indexset_equal(const struct indexset *set, const struct indexset *other)
{
    for (size_t i = 0; i < set->word_count || i < other->word_count; i++) {
        if (word_at(set, i) != word_at(other, i))
            return false;
    }
    return true;
}

uint32_t indexset_next(const struct indexset *set, uint32_t from)
{
    for (size_t i = from / 64; i < set->word_count; i++) {
        uint64_t word = set->words[i] & (i == from / 64 ? UINT64_MAX << (from % 64) : UINT64_MAX);

        if (word)
            return (uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(word);
    }
    return INDEXSET_MAX;
}

size_t indexset_count(const struct indexset *set)
{
    size_t count = 0;

    for (size_t i = 0; i < set->word_count; i++)
        count += (size_t)__builtin_popcountll(set->words[i]);
    return count;
}

void indexset_parse(struct indexset *set, const char *text)
{
    size_t words = 0; /* written: fewer than this for ranges that do not overlap */

    while (*text && words < INDEXSET_MAX) {
        char *end;
        unsigned long low = strtoul(text, &end, 10), high = low;

        if (end == text)
            return;
        if (*end == '-') {
            text = end + 1;
            high = strtoul(text, &end, 10);
            if (end == text)
                return;
        }
        if (high >= INDEXSET_MAX)
            high = INDEXSET_MAX - 1;
        if (low <= high) {
            indexset_add_range(set, (uint32_t)low, (uint32_t)(high + 1 - low));
            words += (high - low) / 64 + 1;
        }
        text = *end == ',' ? end + 1 : end;
        if (*end && *end != ',')
            return;
    }
}

char *indexset_print(const struct indexset *set)
{
    struct str out = {0};

    for (uint32_t low = indexset_next(set, 0); low < INDEXSET_MAX; low = indexset_next(set, low)) {
        uint32_t first = low;

        while (indexset_has(set, ++low))
            ;
        str_addf(&out, "%s%u", out.len ? "," : "", first);
        if (low > first + 1)
            str_addf(&out, "-%u", low - 1);
    }
    return str_take(&out);
}

void indexset_release(struct indexset *set)
{
    mem_free(set->words);
    *set = (struct indexset){0};
}
