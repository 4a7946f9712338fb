/* Memory for one decoded message: pieces are cut from chunks and freed together. It has a budget, because a
 * small message can need much memory (two bytes of an empty sub-message become a struct of a hundred);
 * beyond it arena_alloc returns NULL, and the decoder fails. A zeroed arena with a budget is ready for use.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/mem.h"

struct arena {
    struct arena_chunk *chunks;
    size_t budget; /* bytes left */
};

#define ARENA_PIECE_OVERHEAD ((size_t)16) /* overhead of an allocation elsewhere, beside its own bytes */

void *arena_alloc(struct arena *arena, size_t size); /* zeroed; NULL beyond the budget */
/* Charges the budget for memory elsewhere; false beyond the budget. */
bool arena_charge(struct arena *arena, size_t size);
void arena_clear(struct arena *arena); /* for the next message: keeps a chunk */
void arena_release(struct arena *arena);
DEFINE_AUTO(arena);
