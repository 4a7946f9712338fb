/* Arrays one after the other in one piece of memory, so that a copy of it copies them all. */
#pragma once

#include <stddef.h>

/* The next array; NULL if there is no memory yet, to count how much is needed. */
static inline void *lay(void *memory, size_t *used, size_t count, size_t size)
{
    void *at = memory ? (char *)memory + *used : NULL;

    *used += (count * size + 63) & ~(size_t)63;
    return at;
}
