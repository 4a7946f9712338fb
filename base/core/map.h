/* A string-keyed hash map of borrowed values; keys are copied, or with borrows_keys borrowed from an owner
 * that keeps them until they are removed. Iteration order is unspecified. A zeroed struct map is empty. The
 * map never frees values: walk it and free them before map_release. No call takes longer the more keys there
 * are: a map that grows moves them some at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct map_slot;

struct map {
    struct map_slot *slots;
    size_t count;
    size_t cap;
    struct map_slot *old;  /* the table before it grew, until the keys of all of its slots have moved... */
    size_t old_cap, moved; /* ...as those of so many have */
    bool borrows_keys;     /* set before the first key */
};

void *map_get(const struct map *map, const char *key); /* NULL when absent */
void *map_set(struct map *map, const char *key,
              void *value);                         /* returns the value replaced, or NULL; value not NULL */
void *map_remove(struct map *map, const char *key); /* returns the value removed, or NULL */
void map_release(struct map *map);

/* for (size_t i = 0; map_next(&map, &i, &key, &value);) - do not add or remove while walking. key may be
 * NULL. */
bool map_next(const struct map *map, size_t *pos, const char **key, void **value);
