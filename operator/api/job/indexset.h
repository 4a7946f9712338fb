/* A set of instance numbers, written as "0-3,5" in status (like completedIndexes of Jobs). Pure. A zeroed
 * set is empty. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INDEXSET_MAX 65536u /* numbers at or above it are rejected */

struct indexset {
    uint64_t *words;
    size_t word_count;
};

void indexset_add(struct indexset *set, uint32_t index);
void indexset_add_range(struct indexset *set, uint32_t first, uint32_t count);
void indexset_add_all(struct indexset *set, const struct indexset *other);
void indexset_remove(struct indexset *set, uint32_t index);
void indexset_remove_all(struct indexset *set, const struct indexset *other);
bool indexset_has(const struct indexset *set, uint32_t index);
bool indexset_equal(const struct indexset *set, const struct indexset *other);
size_t indexset_count(const struct indexset *set);
/* The first number from `from` on; INDEXSET_MAX: there is none. */
uint32_t indexset_next(const struct indexset *set, uint32_t from);
void indexset_parse(struct indexset *set, const char *text); /* adds; invalid ranges are skipped */
char *indexset_print(const struct indexset *set);            /* owned by the caller; "" if empty */
void indexset_release(struct indexset *set);

static inline void indexset_auto(struct indexset *set)
{
    indexset_release(set);
}
