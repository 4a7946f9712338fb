/* Who makes room when too many wait to be let in: of the address that has most of them, the one that came
 * first. So a flood from one place pushes out itself, and a launcher elsewhere is let in. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CROWD_ADDRESS_BYTES 16u /* IPv6; an IPv4 address as ::ffff:a.b.c.d */

struct crowd_member {
    uint8_t address[CROWD_ADDRESS_BYTES];
    uint64_t number; /* grows with every one that comes */
};

/* The index of the one that goes; count is at least 1. */
size_t crowd_choose(const struct crowd_member *members, size_t count);
