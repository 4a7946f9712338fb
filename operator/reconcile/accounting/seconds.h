/* In which seconds some things have begun, with repeats: the first is known without a walk over the things.
 * Zeroed, there are none. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct second;

struct seconds {
    struct second *items; /* the first one first */
    size_t count, cap;
};

void seconds_add(struct seconds *seconds, int64_t second);
void seconds_remove(struct seconds *seconds, int64_t second); /* one that was added */
int64_t seconds_first(const struct seconds *seconds);         /* 0: there are none */
void seconds_release(struct seconds *seconds);
