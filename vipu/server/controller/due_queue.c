#include "vipu/server/controller/due_queue.h"

#include "base/core/mem.h"

static bool is_before(const struct heap_node *node_a, const struct heap_node *node_b)
{
    const struct controller_partition *a = CONTAINER_OF(node_a, struct controller_partition, due);
    const struct controller_partition *b = CONTAINER_OF(node_b, struct controller_partition, due);

    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->number < b->number;
}

void due_queue_release(struct due_queue *queue)
{
    heap_release(&queue->heap);
}

void due_queue_put(struct due_queue *queue, struct controller_partition *entry)
{
    heap_put(&queue->heap, &entry->due, is_before);
}

void due_queue_remove(struct due_queue *queue, struct controller_partition *entry)
{
    heap_remove(&queue->heap, &entry->due, is_before);
}

struct controller_partition *due_queue_first(const struct due_queue *queue)
{
    struct heap_node *first = heap_first(&queue->heap);

    return first ? CONTAINER_OF(first, struct controller_partition, due) : NULL;
}
