/* How a connection of a server stands when places or memory are used up, and which of two connections has to
 * yield. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct standing {
    bool is_pinned;    /* its own bytes are being processed: it cannot be closed now */
    bool is_known;     /* one of its calls has succeeded */
    bool is_busy;      /* a call is being carried out, or its client is reading a response */
    bool is_stalled;   /* its client has left responses unread for a while */
    int64_t since_ms;  /* its last complete request, or its start */
    uint32_t siblings; /* connections of the same peer, itself included */
    size_t bytes;      /* kept for it: unfinished requests, calls, unread responses */
};

/* Whether it may be closed for a new connection, whose peer will then have this many. One that is in use
 * yields only if its peer has more than its share and the newcomer's has not. */
bool standing_may_yield_place(const struct standing *s, uint32_t newcomer, uint32_t share);
/* Whether a is rather closed than b: strangers, then those of the peer with the most connections, then the
 * one that has been idle for longest. */
bool standing_yields_place(const struct standing *a, const struct standing *b);

/* Whether it may be closed so that another connection, for which this much would be kept, gets memory: one
 * that is stalled, or has more. */
bool standing_may_yield_memory(const struct standing *s, size_t bytes);
bool standing_yields_memory(const struct standing *a, const struct standing *b);
