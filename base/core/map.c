#include "base/core/map.h"

#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"

/* Open addressing with linear probing; removal moves followers back, so there are no tombstones to sweep. */
struct map_slot {
    const char *key; /* NULL: free */
    void *value;
    uint64_t hash;
};

static uint64_t hash_of(const char *key)
{
    uint64_t hash = str_hash(key);

    return hash ^ (hash >> 32);
}

/* The key's slot, or the free slot for it. The table is never full. */
static struct map_slot *find(const struct map *map, const char *key, uint64_t hash)
{
    size_t i = hash & (map->cap - 1);

    while (map->slots[i].key && (map->slots[i].hash != hash || strcmp(map->slots[i].key, key) != 0))
        i = (i + 1) & (map->cap - 1);
    return &map->slots[i];
}

static void grow(struct map *map)
{
    struct map old = *map;

    map->cap = old.cap ? old.cap * 2 : 16;
    map->slots = mem_alloc(map->cap * sizeof *map->slots);
    for (size_t i = 0; i < old.cap; i++) {
        if (old.slots[i].key)
            *find(map, old.slots[i].key, old.slots[i].hash) = old.slots[i];
    }
    mem_free(old.slots);
}

static void free_key(const struct map *map, const struct map_slot *slot)
{
    if (!map->borrows_keys)
        mem_free((char *)(uintptr_t)slot->key);
}

void *map_get(const struct map *map, const char *key)
{
    return map->count ? find(map, key, hash_of(key))->value : NULL;
}

void *map_set(struct map *map, const char *key, void *value)
{
    uint64_t hash = hash_of(key);

    if ((map->count + 1) * 4 > map->cap * 3)
        grow(map);
    struct map_slot *slot = find(map, key, hash);
    void *old = slot->value;
    if (!slot->key) {
        *slot = (struct map_slot){.key = map->borrows_keys ? key : mem_strdup(key), .hash = hash};
        map->count++;
    }
    slot->value = value;
    return old;
}

/* Entries after a freed slot move into it unless it precedes their home slot. */
static void close_hole(struct map *map, size_t hole)
{
    size_t mask = map->cap - 1;

    for (size_t i = (hole + 1) & mask; map->slots[i].key; i = (i + 1) & mask) {
        size_t home = map->slots[i].hash & mask;
        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        map->slots[hole] = map->slots[i];
        hole = i;
    }
    map->slots[hole] = (struct map_slot){0};
}

void *map_remove(struct map *map, const char *key)
{
    if (map->count == 0)
        return NULL;
    struct map_slot *slot = find(map, key, hash_of(key));
    if (!slot->key)
        return NULL;
    void *value = slot->value;
    free_key(map, slot);
    close_hole(map, (size_t)(slot - map->slots));
    map->count--;
    return value;
}

void map_release(struct map *map)
{
    for (size_t i = 0; i < map->cap; i++)
        free_key(map, &map->slots[i]);
    mem_free(map->slots);
    *map = (struct map){0};
}

bool map_next(const struct map *map, size_t *pos, const char **key, void **value)
{
    while (*pos < map->cap) {
        const struct map_slot *slot = &map->slots[(*pos)++];
        if (!slot->key)
            continue;
        if (key)
            *key = slot->key;
        *value = slot->value;
        return true;
    }
    return false;
}
