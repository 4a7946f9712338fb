#include "vipu/wire/grpc/eviction.h"

bool eviction_is_allowed_for_connection(const struct eviction_candidate *s, uint32_t newcomer, uint32_t share)
{
    if (s->is_pinned)
        return false;
    return !s->is_busy || (s->peer_connections > share && newcomer <= share);
}

bool eviction_precedes_for_connection(const struct eviction_candidate *a, const struct eviction_candidate *b)
{
    if (a->is_busy != b->is_busy)
        return b->is_busy;
    if (a->is_known != b->is_known)
        return b->is_known;
    if (a->peer_connections != b->peer_connections)
        return a->peer_connections > b->peer_connections;
    return a->since_ms < b->since_ms;
}

bool eviction_is_allowed_for_memory(const struct eviction_candidate *s, size_t bytes)
{
    return !s->is_pinned && s->bytes > 0 && (s->is_stalled || s->bytes > bytes);
}

bool eviction_precedes_for_memory(const struct eviction_candidate *a, const struct eviction_candidate *b)
{
    if (a->is_stalled != b->is_stalled)
        return a->is_stalled;
    return a->bytes > b->bytes;
}
