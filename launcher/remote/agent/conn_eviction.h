/* Who makes room when too many wait to be let in: of the address that has most of them, the one that came
 * first. So a flood from one place pushes out itself, and a launcher elsewhere is let in. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "launcher/remote/protocol/endpoint.h"

struct conn_origin {
    uint8_t address[ENDPOINT_ADDRESS_BYTES];
    uint64_t number; /* grows with every one that comes */
};

/* The index of the one that goes; count is at least 1. */
size_t conn_eviction_pick(const struct conn_origin *members, size_t count);
