#include "vipu/server/controller/due_queue.h"

#include "base/core/mem.h"

void due_queue_release(struct due_queue *queue)
{
    mem_free(queue->items);
    *queue = (struct due_queue){0};
}

static bool is_before(const struct controller_partition *a, const struct controller_partition *b)
{
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->number < b->number;
}

static void place(struct due_queue *queue, size_t at, struct controller_partition *entry)
{
    queue->items[at] = entry;
    entry->due_at = at + 1;
}

static void rise(struct due_queue *queue, size_t at, struct controller_partition *entry)
{
    while (at > 0 && is_before(entry, queue->items[(at - 1) / 2])) {
        place(queue, at, queue->items[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    place(queue, at, entry);
}

static void sink(struct due_queue *queue, size_t at, struct controller_partition *entry)
{
    for (size_t child; (child = 2 * at + 1) < queue->count; at = child) {
        if (child + 1 < queue->count && is_before(queue->items[child + 1], queue->items[child]))
            child++;
        if (!is_before(queue->items[child], entry))
            break;
        place(queue, at, queue->items[child]);
    }
    place(queue, at, entry);
}

static void settle(struct due_queue *queue, size_t at, struct controller_partition *entry)
{
    if (at > 0 && is_before(entry, queue->items[(at - 1) / 2]))
        rise(queue, at, entry);
    else
        sink(queue, at, entry);
}

void due_queue_put(struct due_queue *queue, struct controller_partition *entry)
{
    if (entry->due_at == 0) {
        queue->items = mem_grow(queue->items, queue->count + 1, sizeof(struct controller_partition *));
        entry->due_at = ++queue->count;
    }
    settle(queue, entry->due_at - 1, entry);
}

void due_queue_remove(struct due_queue *queue, struct controller_partition *entry)
{
    size_t at = entry->due_at;
    struct controller_partition *last;

    if (at == 0)
        return;
    entry->due_at = 0;
    last = queue->items[--queue->count];
    if (last != entry)
        settle(queue, at - 1, last);
}

struct controller_partition *due_queue_first(const struct due_queue *queue)
{
    return queue->count > 0 ? queue->items[0] : NULL;
}
