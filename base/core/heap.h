/* A binary heap of nodes that are part of what they order: adding, moving and removing one takes no search.
 * Borrows the nodes. Zeroed, both are empty. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct heap_node {
    size_t at; /* its place, from 1; 0: in no heap */
};

typedef bool heap_before_fn(const struct heap_node *a, const struct heap_node *b);

struct heap {
    struct heap_node **nodes;
    size_t count, capacity;
};

void heap_release(struct heap *heap);
/* Adds it, or moves it after its order has changed. */
void heap_put(struct heap *heap, struct heap_node *node, heap_before_fn *is_before);
void heap_remove(struct heap *heap, struct heap_node *node,
                 heap_before_fn *is_before);           /* accepts one in none */
struct heap_node *heap_first(const struct heap *heap); /* NULL: empty */
