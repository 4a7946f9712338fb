#include "base/core/heap.h"

#include "base/core/mem.h"

void heap_release(struct heap *heap)
{
    mem_free(heap->nodes);
    *heap = (struct heap){0};
}

static void place(struct heap *heap, size_t at, struct heap_node *node)
{
    heap->nodes[at] = node;
    node->at = at + 1;
}

static void sift_up(struct heap *heap, size_t at, struct heap_node *node, heap_before_fn *is_before)
{
    while (at > 0 && is_before(node, heap->nodes[(at - 1) / 2])) {
        place(heap, at, heap->nodes[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    place(heap, at, node);
}

static void sift_down(struct heap *heap, size_t at, struct heap_node *node, heap_before_fn *is_before)
{
    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count && is_before(heap->nodes[child + 1], heap->nodes[child]))
            child++;
        if (!is_before(heap->nodes[child], node))
            break;
        place(heap, at, heap->nodes[child]);
    }
    place(heap, at, node);
}

static void settle(struct heap *heap, size_t at, struct heap_node *node, heap_before_fn *is_before)
{
    if (at > 0 && is_before(node, heap->nodes[(at - 1) / 2]))
        sift_up(heap, at, node, is_before);
    else
        sift_down(heap, at, node, is_before);
}

void heap_put(struct heap *heap, struct heap_node *node, heap_before_fn *is_before)
{
    if (node->at == 0) {
        if (heap->count == heap->capacity) {
            heap->capacity = heap->capacity * 2 + 16;
            heap->nodes = mem_grow(heap->nodes, heap->capacity, sizeof(struct heap_node *));
        }
        node->at = ++heap->count;
    }
    settle(heap, node->at - 1, node, is_before);
}

void heap_remove(struct heap *heap, struct heap_node *node, heap_before_fn *is_before)
{
    size_t at = node->at;
    struct heap_node *last;

    if (at == 0)
        return;
    node->at = 0;
    last = heap->nodes[--heap->count];
    if (last != node)
        settle(heap, at - 1, last, is_before);
}

struct heap_node *heap_first(const struct heap *heap)
{
    return heap->count > 0 ? heap->nodes[0] : NULL;
}
