/* Memory for one decoded message: pieces are cut from chunks and freed together. It has a budget, because a
 * small message can ask for much memory (two bytes of an empty sub-message become a hundred of struct); past
 * it arena_alloc returns NULL, and the decoder that asked gives up. A zeroed arena with a budget is ready for
 * use. */
#pragma once

#include <stddef.h>

struct arena {
    struct arena_chunk *chunks;
    size_t budget; /* bytes still to be had */
};

void *arena_alloc(struct arena *arena, size_t size); /* zeroed; NULL past the budget */
void arena_clear(struct arena *arena);               /* for the next message: keeps a chunk */
void arena_release(struct arena *arena);

static inline void arena_auto(struct arena *arena)
{
    arena_release(arena);
}
