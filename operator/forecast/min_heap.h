/* A binary heap of numbers, the least first. The caller provides the memory. */
#pragma once

#include <stdint.h>

struct min_heap {
    uint64_t *items;
    uint32_t count;
};

static inline void min_heap_push(struct min_heap *h, uint64_t item)
{
    uint32_t at = h->count++;

    for (; at > 0 && item < h->items[(at - 1) / 2]; at = (at - 1) / 2)
        h->items[at] = h->items[(at - 1) / 2];
    h->items[at] = item;
}

static inline uint64_t min_heap_pop(struct min_heap *h)
{
    uint64_t first = h->items[0], last = h->items[--h->count];
    uint32_t at = 0;

    for (uint32_t child = 1; child < h->count; child = 2 * at + 1) {
        if (child + 1 < h->count && h->items[child + 1] < h->items[child])
            child++;
        if (h->items[child] >= last)
            break;
        h->items[at] = h->items[child];
        at = child;
    }
    if (h->count)
        h->items[at] = last;
    return first;
}
