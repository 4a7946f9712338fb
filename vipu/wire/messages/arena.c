#include "vipu/wire/messages/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"

#define CHUNK_BYTES ((size_t)16 * 1024)

struct arena_chunk {
    struct arena_chunk *next;
    size_t used, size;
    alignas(max_align_t) unsigned char bytes[];
};

static struct arena_chunk *chunk_add(struct arena *arena, size_t size)
{
    size_t room = size > CHUNK_BYTES ? size : CHUNK_BYTES;
    struct arena_chunk *chunk;

    if (room > arena->budget)
        return NULL;
    arena->budget -= room;
    chunk = mem_alloc(sizeof(*chunk) + room);
    chunk->size = room;
    /* A big piece gets a chunk of its own behind the current one, which remains in use. */
    if (size > CHUNK_BYTES && arena->chunks) {
        chunk->next = arena->chunks->next;
        arena->chunks->next = chunk;
    } else {
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    return chunk;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    struct arena_chunk *chunk = arena->chunks;
    void *piece;

    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (!chunk || chunk->size - chunk->used < size)
        chunk = chunk_add(arena, size);
    if (!chunk)
        return NULL;
    piece = chunk->bytes + chunk->used;
    chunk->used += size;
    return piece;
}

bool arena_charge(struct arena *arena, size_t size)
{
    if (size > arena->budget)
        return false;
    arena->budget -= size;
    return true;
}

void arena_clear(struct arena *arena)
{
    struct arena_chunk *kept = arena->chunks;

    if (!kept)
        return;
    arena->chunks = kept->next;
    for (struct arena_chunk *chunk = arena->chunks; chunk; chunk = chunk->next)
        arena->budget += chunk->size;
    arena_release(arena);
    memset(kept->bytes, 0, kept->used);
    kept->used = 0;
    kept->next = NULL;
    arena->chunks = kept;
}

void arena_release(struct arena *arena)
{
    while (arena->chunks) {
        struct arena_chunk *next = arena->chunks->next;

        mem_free(arena->chunks);
        arena->chunks = next;
    }
}
