#include "popdist/src/core/exchange.h"

#include <string.h>

#include "popdist/src/core/fail.h"
#include "popdist/src/core/alloc.h"
#include "popdist/src/core/types.h"

#define KIB ((size_t)1024)
#define CHUNK_MAX (512 * KIB) /* summed data stays in the cache */
#define CHUNK_MIN (64 * KIB)
#define SUMMANDS_MAX (8 * KIB * KIB)
#define PART_MAX (16 * KIB * KIB) /* where nothing depends on a chunk */

/* With participant p: this instance's summands are sent to p and p's arrive, then its sums are sent to p and
 * p's arrive. Without sums, the parts are exchanged by GIVE and TAKE. */
enum kind { GIVE, TAKE, SPREAD, FETCH, KINDS };

static struct stream *stream_of(const struct exchange *exchange, enum kind kind, uint32_t rank)
{
    return &exchange->streams[(size_t)kind * exchange->group->count + rank];
}

static void open_stream(struct exchange *exchange, enum kind kind, uint32_t rank, const uint32_t *tags,
                        uint8_t *memory, size_t size, size_t chunk)
{
    bool sends = kind == GIVE || kind == SPREAD;

    *stream_of(exchange, kind, rank) = (struct stream){
        .sends = sends,
        .wraps = memory == NULL,
        .instance = exchange->group->members[rank],
        .tag = tags[sends ? rank : exchange->group->self] + (kind >= SPREAD),
        .memory = memory,
        .size = size,
        .chunk = chunk,
    };
}

/* Where a participant's segment starts, in bytes. */
static size_t segment(const struct exchange *exchange, uint32_t rank)
{
    uint64_t count = exchange->layout.count, parts = exchange->group->count;
    uint64_t whole = count / parts * rank, rest = count % parts * rank / parts;

    return (size_t)(whole + rest) * popdist_type_size(exchange->layout.type);
}

static size_t chunk_for(uint32_t others)
{
    size_t chunk = SUMMANDS_MAX / STREAM_WINDOW / others / CHUNK_MIN * CHUNK_MIN;

    return chunk > CHUNK_MAX ? CHUNK_MAX : chunk < CHUNK_MIN ? CHUNK_MIN : chunk;
}

static enum popdist_status start_all_reduce(struct exchange *exchange, const uint32_t *tags,
                                            struct popdist_error *error)
{
    const struct group *group = exchange->group;
    uint32_t self = group->self, others = group->count - 1;
    size_t place = 0;
    size_t chunk = chunk_for(others), begin = segment(exchange, self), end = segment(exchange, self + 1);

    exchange->summands = popdist_alloc((size_t)others * STREAM_WINDOW, chunk);
    exchange->sources = popdist_alloc(others, sizeof *exchange->sources);
    if (!exchange->summands || !exchange->sources)
        return fail_memory(error);
    for (uint32_t rank = 0; rank < group->count; rank++) {
        size_t from = segment(exchange, rank), to = segment(exchange, rank + 1);

        if (rank == self)
            continue;
        open_stream(exchange, GIVE, rank, tags, exchange->data + from, to - from, chunk);
        open_stream(exchange, TAKE, rank, tags, NULL, end - begin, chunk);
        stream_of(exchange, TAKE, rank)->memory = exchange->summands + place++ * STREAM_WINDOW * chunk;
        open_stream(exchange, SPREAD, rank, tags, exchange->data + begin, end - begin, chunk);
        open_stream(exchange, FETCH, rank, tags, exchange->data + from, to - from, chunk);
    }
    return POPDIST_OK;
}

static void start_all_gather(struct exchange *exchange, const uint32_t *tags)
{
    size_t part = (size_t)exchange->layout.count * popdist_type_size(exchange->layout.type);
    uint32_t self = exchange->group->self;

    for (uint32_t rank = 0; rank < exchange->group->count; rank++) {
        if (rank == self)
            continue;
        open_stream(exchange, GIVE, rank, tags, exchange->data + self * part, part, PART_MAX);
        open_stream(exchange, TAKE, rank, tags, exchange->data + rank * part, part, PART_MAX);
    }
}

static void start_broadcast(struct exchange *exchange, const uint32_t *tags)
{
    size_t size = (size_t)exchange->layout.count * popdist_type_size(exchange->layout.type);
    uint32_t count = exchange->group->count, self = exchange->group->self, root = exchange->layout.root;
    uint32_t before = (self + count - 1) % count, after = (self + 1) % count;
    size_t chunk = count > 2 ? CHUNK_MAX : PART_MAX;

    if (self != root)
        open_stream(exchange, TAKE, before, tags, exchange->data, size, chunk);
    if (after != root)
        open_stream(exchange, GIVE, after, tags, exchange->data, size, chunk);
}

enum popdist_status exchange_start(struct exchange *exchange, const struct layout *layout,
                                   const struct group *group, const uint32_t *tags, void *data,
                                   struct popdist_error *error)
{
    *exchange = (struct exchange){.layout = *layout, .group = group, .data = data};
    exchange->stream_count = (size_t)KINDS * group->count;
    exchange->streams = popdist_alloc(exchange->stream_count, sizeof *exchange->streams);
    if (!exchange->streams)
        return fail_memory(error);
    for (size_t i = 0; i < exchange->stream_count; i++)
        exchange->streams[i].chunk = CHUNK_MIN; /* of nothing */
    if (layout->operation == OPERATION_ALL_REDUCE)
        return start_all_reduce(exchange, tags, error);
    if (layout->operation == OPERATION_ALL_GATHER)
        start_all_gather(exchange, tags);
    else
        start_broadcast(exchange, tags);
    return POPDIST_OK;
}

void exchange_release(struct exchange *exchange)
{
    popdist_free(exchange->streams);
    popdist_free(exchange->summands);
    popdist_free((void *)exchange->sources);
    *exchange = (struct exchange){0};
}

/* How many chunks of a stream may have started by now. */
static size_t limit_of(const struct exchange *exchange, enum kind kind, uint32_t rank)
{
    const struct group *group = exchange->group;
    uint32_t before = (group->self + group->count - 1) % group->count;

    if (exchange->layout.operation == OPERATION_BROADCAST && kind == GIVE &&
        group->self != exchange->layout.root)
        return stream_of(exchange, TAKE, before)->done;
    if (exchange->layout.operation != OPERATION_ALL_REDUCE)
        return SIZE_MAX;
    switch (kind) {
    case TAKE:
        return exchange->reduced + STREAM_WINDOW;
    case SPREAD:
        return exchange->reduced;
    case FETCH: /* overwrites this instance's summands */
        return stream_of(exchange, GIVE, rank)->done;
    case GIVE:
    case KINDS:
        break;
    }
    return SIZE_MAX;
}

static bool has_come(const struct exchange *exchange, size_t chunk)
{
    for (uint32_t rank = 0; rank < exchange->group->count; rank++)
        if (rank != exchange->group->self && stream_of(exchange, TAKE, rank)->done <= chunk)
            return false;
    return true;
}

/* Sums the next chunk of this instance's segment if all its summands have arrived. */
static bool reduce(struct exchange *exchange)
{
    const struct group *group = exchange->group;
    const struct stream *sums = stream_of(exchange, SPREAD, group->self ? 0 : 1);
    size_t chunk = exchange->reduced, count = 0;

    if (chunk == stream_chunks(sums) || !has_come(exchange, chunk))
        return false;
    for (uint32_t rank = 0; rank < group->count; rank++)
        if (rank != group->self)
            exchange->sources[count++] = stream_chunk(stream_of(exchange, TAKE, rank), chunk);
    type_sum(exchange->layout.type, stream_chunk(sums, chunk), exchange->sources, count,
             stream_chunk_size(sums, chunk) / popdist_type_size(exchange->layout.type));
    exchange->reduced++;
    return true;
}

enum popdist_status exchange_step(struct exchange *exchange, const struct link *link, bool *moved,
                                  struct popdist_error *error)
{
    for (enum kind kind = GIVE; kind < KINDS; kind++) {
        for (uint32_t rank = 0; rank < exchange->group->count; rank++) {
            struct stream *stream = stream_of(exchange, kind, rank);
            enum popdist_status status = POPDIST_OK;

            if (!stream_is_done(stream))
                status = stream_step(stream, link, limit_of(exchange, kind, rank), moved, error);
            if (status)
                return status;
        }
        if (kind == TAKE && exchange->layout.operation == OPERATION_ALL_REDUCE)
            while (reduce(exchange))
                *moved = true;
    }
    return POPDIST_OK;
}

bool exchange_is_done(const struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->stream_count; i++)
        if (!stream_is_done(&exchange->streams[i]))
            return false;
    return true;
}
