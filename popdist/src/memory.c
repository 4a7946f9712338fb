#include "popdist/src/memory.h"

#include <stdlib.h>

void *memory_new(size_t count, size_t size)
{
    /* An empty array is not a failure. */
    return calloc(count ? count : 1, size ? size : 1);
}

void memory_free(void *memory)
{
    free(memory);
}
