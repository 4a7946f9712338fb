/* The element types: their sizes, names and sums. Pure. */
#ifndef POPDIST_TYPES_H
#define POPDIST_TYPES_H

#include "popdist/popdist.h"

bool type_is_valid(enum popdist_type type);
/* into[i] += from[0][i] + from[1][i] + ..., in this order; integers wrap around, half is rounded once. All
 * are aligned to the type. */
void type_sum(enum popdist_type type, void *into, const void *const *from, size_t sources, size_t count);

#endif
