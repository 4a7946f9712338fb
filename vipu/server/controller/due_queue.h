/* The partitions whose timers run, ordered by when they expire, then by creation. Borrows the partitions.
 * Pure. */
#pragma once

#include "base/core/heap.h"
#include "vipu/server/controller/controller_partition.h"

struct due_queue {
    struct heap heap;
};

void due_queue_release(struct due_queue *queue);
/* Adds it, or moves it after its due_ms has changed. */
void due_queue_put(struct due_queue *queue, struct controller_partition *entry);
void due_queue_remove(struct due_queue *queue,
                      struct controller_partition *entry);                   /* accepts one not in it */
struct controller_partition *due_queue_first(const struct due_queue *queue); /* NULL: empty */
