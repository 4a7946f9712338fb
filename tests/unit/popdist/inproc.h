/* Instances as threads of one process: a backend whose messages are copies in memory. Large messages meet as
 * MPI's do: nothing is copied before the receiver has said where to. */
#pragma once

#include "popdist/src/engine/engine.h"

struct inproc;

struct inproc *inproc_new(uint32_t instances);
/* All engines over it have been freed. */
void inproc_free(struct inproc *world);
struct link inproc_link(struct inproc *world, uint32_t instance);
/* From now on messages with data are never delivered. */
void inproc_cut(struct inproc *world);
