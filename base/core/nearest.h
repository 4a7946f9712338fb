/* What a mistyped word was probably meant to be: the known word with the fewest letters added, dropped,
 * replaced or swapped with their neighbour. Words are offered one by one, so that any table can be asked.
 * Pure; nothing is kept but borrowed pointers. */
#pragma once

#include <stddef.h>

struct nearest {
    const char *word; /* as it was typed */
    const char *best; /* NULL until something is near */
    size_t distance;
};

struct nearest nearest_to(const char *word);
void nearest_offer(struct nearest *nearest, const char *known);
/* NULL when nothing that was offered is near enough; the first of those equally near. */
const char *nearest_found(const struct nearest *nearest);
