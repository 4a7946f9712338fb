#include "vipu/wire/grpc/standing.h"

bool standing_may_yield_place(const struct standing *s, uint32_t newcomer, uint32_t share)
{
    if (s->is_pinned)
        return false;
    return !s->is_busy || (s->siblings > share && newcomer <= share);
}

bool standing_yields_place(const struct standing *a, const struct standing *b)
{
    if (a->is_busy != b->is_busy)
        return b->is_busy;
    if (a->is_known != b->is_known)
        return b->is_known;
    if (a->siblings != b->siblings)
        return a->siblings > b->siblings;
    return a->since_ms < b->since_ms;
}

bool standing_may_yield_memory(const struct standing *s, size_t bytes)
{
    return !s->is_pinned && s->bytes > 0 && (s->is_stalled || s->bytes > bytes);
}

bool standing_yields_memory(const struct standing *a, const struct standing *b)
{
    if (a->is_stalled != b->is_stalled)
        return a->is_stalled;
    return a->bytes > b->bytes;
}
