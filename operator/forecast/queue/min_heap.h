/* A heap of numbers, the least first. Each has four children, which lie beside each other: fewer steps than
 * with two. The caller provides the memory. */
#pragma once

#include <stdint.h>

struct min_heap {
    uint64_t *items;
    uint32_t count;
};

static inline void min_heap_push(struct min_heap *h, uint64_t item)
{
    uint32_t at = h->count++;

    for (; at > 0 && item < h->items[(at - 1) / 4]; at = (at - 1) / 4)
        h->items[at] = h->items[(at - 1) / 4];
    h->items[at] = item;
}

static inline uint64_t min_heap_pop(struct min_heap *h)
{
    uint64_t first = h->items[0], last = h->items[--h->count];
    uint32_t at = 0;

    for (uint32_t child = 1; child < h->count; child = 4 * at + 1) {
        uint32_t end = child + 4 < h->count ? child + 4 : h->count, least = child;

        while (++child < end)
            least = h->items[child] < h->items[least] ? child : least;
        if (h->items[least] >= last)
            break;
        h->items[at] = h->items[least];
        at = least;
    }
    if (h->count)
        h->items[at] = last;
    return first;
}
