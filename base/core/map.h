/* A string-keyed hash map of borrowed values; keys are copied, or with borrows_keys borrowed from an owner
 * that keeps them until they are removed. Iteration order is unspecified. A zeroed struct map is empty. The
 * map never frees values: walk it and free them before map_release. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct map_slot;

struct map {
    struct map_slot *slots;
    size_t count;
    size_t cap;
    bool borrows_keys; /* set before the first key */
};

void *map_get(const struct map *map, const char *key); /* NULL when absent */
void *map_set(struct map *map, const char *key,
              void *value);                         /* returns the value replaced, or NULL; value not NULL */
void *map_remove(struct map *map, const char *key); /* returns the value removed, or NULL */
void map_release(struct map *map);

/* for (size_t i = 0; map_next(&map, &i, &key, &value);) - do not add or remove while walking. key may be
 * NULL. */
bool map_next(const struct map *map, size_t *pos, const char **key, void **value);
