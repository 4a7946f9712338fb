/* Finds the known word that a mistyped one probably means: the one with the fewest letters added, dropped,
 * replaced or swapped with the next one. Words are offered one by one, so that any table can be used.
 * Pure; keeps only borrowed pointers. */
#pragma once

#include <stddef.h>

struct suggest {
    const char *word; /* as typed */
    const char *best; /* NULL until one is similar */
    size_t distance;
};

struct suggest suggest_init(const char *word);
void suggest_candidate(struct suggest *suggest, const char *known);
/* NULL if no offered word is similar enough; the first of equally similar ones. */
const char *suggest_best(const struct suggest *suggest);
