#include "operator/reconcile/accounting/seconds.h"

#include <string.h>

#include "base/core/mem.h"

struct second {
    int64_t second;
    size_t count; /* of things */
};

/* How many are before it. */
static size_t find_second(const struct seconds *seconds, int64_t second)
{
    size_t low = 0, high = seconds->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (seconds->items[middle].second < second)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void seconds_add(struct seconds *seconds, int64_t second)
{
    size_t at = find_second(seconds, second);

    if (at == seconds->count || seconds->items[at].second != second) {
        if (seconds->count == seconds->cap) {
            seconds->cap = 2 * seconds->cap + 16;
            seconds->items = mem_grow(seconds->items, seconds->cap, sizeof(*seconds->items));
        }
        memmove(&seconds->items[at + 1], &seconds->items[at],
                (seconds->count - at) * sizeof(*seconds->items));
        seconds->items[at] = (struct second){.second = second};
        seconds->count++;
    }
    seconds->items[at].count++;
}

void seconds_remove(struct seconds *seconds, int64_t second)
{
    size_t at = find_second(seconds, second);

    if (--seconds->items[at].count)
        return;
    seconds->count--;
    memmove(&seconds->items[at], &seconds->items[at + 1], (seconds->count - at) * sizeof(*seconds->items));
}

int64_t seconds_first(const struct seconds *seconds)
{
    return seconds->count ? seconds->items[0].second : 0;
}

void seconds_release(struct seconds *seconds)
{
    mem_free(seconds->items);
    *seconds = (struct seconds){0};
}
