#include "base/core/map.h"

#include <stdio.h>

#include "base/core/mem.h"
#include "lib/check.h"

TEST(an_empty_map_has_nothing)
{
    struct map map = {0};
    size_t pos = 0;
    void *value;

    CHECK(map_get(&map, "a") == NULL);
    CHECK(map_remove(&map, "a") == NULL);
    CHECK(!map_next(&map, &pos, NULL, &value));
    map_release(&map);
}

TEST(borrowed_keys_stay_their_owners)
{
    struct map map = {.borrows_keys = true};
    char keys[40][24];
    size_t pos = 0;
    const char *key;
    void *value;

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        (void)snprintf(keys[i], sizeof(keys[i]), "%zu", i);
        CHECK(map_set(&map, keys[i], keys[i]) == NULL);
    }
    while (map_next(&map, &pos, &key, &value))
        CHECK(key == value);
    CHECK(map_remove(&map, "7") == keys[7]);
    CHECK_STR_EQ(keys[7], "7");
    CHECK_INT_EQ(map.count, 39);
    map_release(&map);
}

TEST(setting_returns_what_was_there)
{
    struct map map = {0};
    int one, two;

    CHECK(map_set(&map, "a", &one) == NULL);
    CHECK(map_set(&map, "a", &two) == &one);
    CHECK(map_get(&map, "a") == &two);
    CHECK_INT_EQ(map.count, 1);
    CHECK(map_remove(&map, "a") == &two);
    CHECK_INT_EQ(map.count, 0);
    CHECK(map_get(&map, "a") == NULL);
    map_release(&map);
}

/* Against a plain array: 3,000 steps over 200 keys, so that the table grows and holes are closed again and
 * again. */
TEST(it_behaves_like_an_array)
{
    enum { KEYS = 200, STEPS = 3000 };
    struct map map = {0};
    int values[KEYS];
    bool there[KEYS] = {false};
    size_t count = 0;
    unsigned random = 1;

    for (int step = 0; step < STEPS; step++) {
        char key[32];
        random = random * 1103515245U + 12345U;
        unsigned i = (random >> 16) % KEYS;
        (void)snprintf(key, sizeof key, "key-%u", i);
        if ((random >> 8) % 3 != 0) {
            CHECK(map_set(&map, key, &values[i]) == (there[i] ? &values[i] : NULL));
            count += !there[i];
            there[i] = true;
        } else {
            CHECK(map_remove(&map, key) == (there[i] ? &values[i] : NULL));
            count -= there[i];
            there[i] = false;
        }
        CHECK_INT_EQ(map.count, count);
        for (unsigned k = 0; k < KEYS; k += 7) {
            (void)snprintf(key, sizeof key, "key-%u", k);
            CHECK(map_get(&map, key) == (there[k] ? &values[k] : NULL));
        }
    }
    map_release(&map);
}

TEST(a_walk_meets_each_key_once)
{
    struct map map = {0};
    int values[100] = {0};
    const char *key;
    void *value;
    size_t seen = 0;

    for (int i = 0; i < 100; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%d", i);
        CHECK(map_set(&map, name, &values[i]) == NULL);
    }
    for (size_t pos = 0; map_next(&map, &pos, &key, &value); seen++)
        CHECK_INT_EQ(++*(int *)value, 1);
    CHECK_INT_EQ(seen, 100);
    map_release(&map);
}

/* The last one makes a table of 1,024 slots grow. */
enum { CROWD = 769 };

static void check_crowd(const struct map *map, char (*keys)[16], const bool *is_in)
{
    size_t met = 0, count = 0;
    const char *key;
    void *value;

    for (size_t i = 0; i < CROWD; i++) {
        CHECK(map_get(map, keys[i]) == (is_in[i] ? keys[i] : NULL));
        count += is_in[i];
    }
    for (size_t pos = 0; map_next(map, &pos, &key, &value); met++)
        CHECK_STR_EQ(key, value);
    CHECK_INT_EQ(map->count, count);
    CHECK_INT_EQ(met, count);
}

TEST(one_that_grows_moves_some_of_its_keys_at_a_time)
{
    static char keys[CROWD][16];
    struct map map = {0};
    bool is_in[CROWD];

    for (unsigned i = 0; i < CROWD; i++) {
        (void)snprintf(keys[i], sizeof(keys[i]), "%u", i);
        CHECK(map_set(&map, keys[i], keys[i]) == NULL);
        is_in[i] = true;
    }
    CHECK(map.moved > 0 && map.moved < map.old_cap);
    check_crowd(&map, keys, is_in);
    for (size_t i = 0; i < CROWD; i += 3) { /* from both tables */
        CHECK(map_remove(&map, keys[i]) == keys[i]);
        CHECK(map_remove(&map, keys[i]) == NULL);
        is_in[i] = false;
    }
    check_crowd(&map, keys, is_in);
    for (size_t i = 0; i < CROWD; i++) { /* some come back, the others are replaced */
        CHECK(map_set(&map, keys[i], keys[i]) == (is_in[i] ? keys[i] : NULL));
        is_in[i] = true;
    }
    CHECK(!map.old);
    check_crowd(&map, keys, is_in);
    map_release(&map);
}
