/* Which connections a server closes when its connections or its memory are used up. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct eviction_candidate {
    bool is_pinned;            /* its own bytes are being processed: it cannot be closed now */
    bool is_known;             /* one of its calls has succeeded */
    bool is_busy;              /* a call is being carried out, or its client is reading a response */
    bool is_stalled;           /* its client has left responses unread for a while */
    int64_t since_ms;          /* its last complete request, or its start */
    uint32_t peer_connections; /* connections of the same peer, itself included */
    size_t bytes;              /* kept for it: unfinished requests, calls, unread responses */
};

/* Whether it may be closed for a new connection, whose peer then has `newcomer` of them. One that is in use
 * is closed only if its peer has more than its share and the newcomer's has not. */
bool eviction_is_allowed_for_connection(const struct eviction_candidate *s, uint32_t newcomer,
                                        uint32_t share);
/* Whether a is closed before b: first those without a successful call, then those of the peer with the most
 * connections, then the one that has been idle for longest. */
bool eviction_precedes_for_connection(const struct eviction_candidate *a, const struct eviction_candidate *b);

/* Whether it may be closed so that another connection, for which this much would be kept, gets memory: one
 * that is stalled, or has more. */
bool eviction_is_allowed_for_memory(const struct eviction_candidate *s, size_t bytes);
bool eviction_precedes_for_memory(const struct eviction_candidate *a, const struct eviction_candidate *b);
