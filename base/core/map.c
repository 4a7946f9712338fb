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

#define MOVED_SLOTS 64 /* with each key that is set */

/* In place of a key that has left the table before: those behind it are still found. */
static const char LEFT[] = "";

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

/* The key's slot in the table before; NULL: it has moved, or is absent. */
static struct map_slot *find_old(const struct map *map, const char *key, uint64_t hash)
{
    const struct map before = {.slots = map->old, .cap = map->old_cap};
    struct map_slot *slot = before.slots ? find(&before, key, hash) : NULL;

    return slot && slot->key ? slot : NULL;
}

static bool has_key(const struct map_slot *slot)
{
    return slot->key && slot->key != LEFT;
}

static void move_some(struct map *map)
{
    for (size_t i = 0; i < MOVED_SLOTS && map->old; i++) {
        struct map_slot *slot = &map->old[map->moved];

        if (has_key(slot)) {
            *find(map, slot->key, slot->hash) = *slot;
            *slot = (struct map_slot){.key = LEFT};
        }
        if (++map->moved == map->old_cap)
            mem_free(TAKE(map->old));
    }
}

/* It is called again only when all keys have moved: by then more have come than there are calls needed. */
static void grow(struct map *map)
{
    map->old = map->slots;
    map->old_cap = map->cap;
    map->moved = 0;
    map->cap = map->cap ? map->cap * 2 : 16;
    map->slots = mem_alloc(map->cap * sizeof *map->slots);
}

static void free_key(const struct map *map, const struct map_slot *slot)
{
    if (!map->borrows_keys)
        mem_free((char *)(uintptr_t)slot->key);
}

/* The next one with a key, of both tables. */
static const struct map_slot *next_slot(const struct map *map, size_t *pos)
{
    size_t count = map->cap + (map->old ? map->old_cap : 0);

    while (*pos < count) {
        size_t i = (*pos)++;
        const struct map_slot *slot = i < map->cap ? &map->slots[i] : &map->old[i - map->cap];

        if (has_key(slot))
            return slot;
    }
    return NULL;
}

void *map_get(const struct map *map, const char *key)
{
    if (map->count == 0)
        return NULL;
    uint64_t hash = hash_of(key);
    const struct map_slot *slot = find(map, key, hash);

    if (!slot->key)
        slot = find_old(map, key, hash);
    return slot ? slot->value : NULL;
}

void *map_set(struct map *map, const char *key, void *value)
{
    uint64_t hash = hash_of(key);
    struct map_slot *slot;
    void *old;

    if ((map->count + 1) * 4 > map->cap * 3)
        grow(map);
    move_some(map);
    slot = find_old(map, key, hash);
    if (!slot)
        slot = find(map, key, hash);
    old = slot->value;
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
    uint64_t hash = hash_of(key);
    struct map_slot *old = find_old(map, key, hash), *slot = old ? old : find(map, key, hash);
    void *value = slot->value;

    if (!slot->key)
        return NULL;
    free_key(map, slot);
    if (old)
        *old = (struct map_slot){.key = LEFT};
    else
        close_hole(map, (size_t)(slot - map->slots));
    map->count--;
    return value;
}

void map_release(struct map *map)
{
    size_t pos = 0;

    for (const struct map_slot *slot; (slot = next_slot(map, &pos));)
        free_key(map, slot);
    mem_free(map->slots);
    mem_free(map->old);
    *map = (struct map){0};
}

bool map_next(const struct map *map, size_t *pos, const char **key, void **value)
{
    const struct map_slot *slot = next_slot(map, pos);

    if (!slot)
        return false;
    if (key)
        *key = slot->key;
    *value = slot->value;
    return true;
}
