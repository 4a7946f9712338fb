/* The devices of one graph compilation domain and their numbers. A single IPU is a device of its own; a
 * reconfigurable domain also offers every aligned group of a power of two, a fixed one only the whole. A
 * device is always a run of neighbours. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct device {
    uint32_t id;
    uint32_t first; /* single IPUs [first, first + count) of the domain */
    uint32_t count;
};

/* How many devices a domain of this many IPUs offers. A reconfigurable one whose number of IPUs is not a
 * power of two, which only a file can contain, counts as fixed. */
uint32_t device_total(uint32_t ipus, bool reconfigurable);
/* False when there is no device of that number. */
bool device_find(uint32_t ipus, bool reconfigurable, uint32_t id, struct device *ret);
