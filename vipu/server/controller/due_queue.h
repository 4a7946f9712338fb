/* The partitions whose timers run, ordered by when they expire, then by creation: a binary heap. Borrows the
 * partitions and keeps their due_at. Pure. */
#pragma once

#include <stddef.h>

#include "vipu/server/controller/controller_partition.h"

struct due_queue {
    struct controller_partition **items;
    size_t count;
};

void due_queue_release(struct due_queue *queue);
/* Adds it, or moves it after its due_ms has changed. */
void due_queue_put(struct due_queue *queue, struct controller_partition *entry);
void due_queue_remove(struct due_queue *queue,
                      struct controller_partition *entry);                   /* accepts one not in it */
struct controller_partition *due_queue_first(const struct due_queue *queue); /* NULL: empty */
