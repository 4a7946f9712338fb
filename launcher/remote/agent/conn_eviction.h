/* Which pending connection is closed when there are too many: of the address with most of them, the oldest.
 * So a flood from one address only evicts itself, and a launcher at another address can connect. Also the
 * launcher's own address may be that of a flood, of another process there: clients that have shown that they
 * have the key stay. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/remote/protocol/endpoint.h"

struct conn_origin {
    uint8_t address[ENDPOINT_ADDRESS_BYTES];
    uint64_t number; /* increases with every connection */
    bool has_key;
};

/* The index of the one to close; count is at least 1. */
size_t conn_eviction_pick(const struct conn_origin *members, size_t count);
