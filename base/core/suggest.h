/* What a mistyped word was probably meant to be: the known word with the fewest letters added, dropped,
 * replaced or swapped with their neighbour. Words are offered one by one, so that any table can be asked.
 * Pure; nothing is kept but borrowed pointers. */
#pragma once

#include <stddef.h>

struct suggest {
    const char *word; /* as it was typed */
    const char *best; /* NULL until something is near */
    size_t distance;
};

struct suggest suggest_init(const char *word);
void suggest_candidate(struct suggest *suggest, const char *known);
/* NULL when nothing that was offered is near enough; the first of those equally near. */
const char *suggest_best(const struct suggest *suggest);
