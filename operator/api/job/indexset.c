#include "operator/api/job/indexset.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"

void indexset_add(struct indexset *set, uint32_t index)
{
    size_t word = index / 64;

    if (index >= INDEXSET_MAX)
        return;
    if (word >= set->word_count) {
        set->words = mem_grow(set->words, word + 1, sizeof(*set->words));
        memset(set->words + set->word_count, 0, (word + 1 - set->word_count) * sizeof(*set->words));
        set->word_count = word + 1;
    }
    set->words[word] |= UINT64_C(1) << (index % 64);
}

bool indexset_has(const struct indexset *set, uint32_t index)
{
    return index / 64 < set->word_count && (set->words[index / 64] >> (index % 64) & 1);
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
    while (*text) {
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
        for (unsigned long i = low; i <= high && i < INDEXSET_MAX; i++)
            indexset_add(set, (uint32_t)i);
        text = *end == ',' ? end + 1 : end;
        if (*end && *end != ',')
            return;
    }
}

char *indexset_print(const struct indexset *set)
{
    struct str out = {0};
    uint32_t limit = (uint32_t)(set->word_count * 64);

    for (uint32_t low = 0; low < limit; low++) {
        uint32_t high = low;

        if (!indexset_has(set, low))
            continue;
        while (indexset_has(set, high + 1))
            high++;
        str_addf(&out, "%s%u", out.len ? "," : "", low);
        if (high > low)
            str_addf(&out, "-%u", high);
        low = high;
    }
    return str_take(&out);
}

void indexset_release(struct indexset *set)
{
    mem_free(set->words);
    *set = (struct indexset){0};
}
