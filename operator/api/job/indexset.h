/* A set of instance numbers, written as "0-3,5" in status (as Jobs write completedIndexes). Pure.
 * A zeroed set is empty. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INDEXSET_MAX 65536u /* numbers at or above it are not accepted */

struct indexset {
    uint64_t *words;
    size_t word_count;
};

void indexset_add(struct indexset *set, uint32_t index);
bool indexset_has(const struct indexset *set, uint32_t index);
size_t indexset_count(const struct indexset *set);
void indexset_parse(struct indexset *set, const char *text); /* adds; what is no range is left out */
char *indexset_print(const struct indexset *set);            /* yours; "" when empty */
void indexset_release(struct indexset *set);

static inline void indexset_auto(struct indexset *set)
{
    indexset_release(set);
}
