/* The views of one kind, by "namespace/name" (or "name" for cluster-wide kinds) and by one index key. Pure:
 * it reports what changed to a callback and does nothing else. An object that was deleted and made again
 * under its name (another uid) is two changes: gone, then new.
 *
 * Views are owned by the store and freed by view_free. Items keep the order in which they came. Do not change
 * the store while walking it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/doc/json.h"

struct store;

struct store_item {
    const char *key;
    const void *view;
};

/* Borrowed for the callback. `old` NULL: it is new. `new` NULL: it is gone, and `old` is its last state: the
 * one the DELETED event brought, or with final_state_unknown the last one seen before the watch was blind. */
struct store_change {
    const char *key;
    const char *uid;
    const void *old;
    const void *new;
    const void *before; /* as the store had it until now; NULL: it is new */
    bool final_state_unknown;
};

struct store_options {
    bool (*view)(void *ctx, const cJSON *item, void **ret_view);
    void (*view_free)(void *view);
    const char *(*index_key)(const void *view); /* or NULL */
    void (*on_change)(void *ctx, const struct store_change *change);
    void *ctx;
};

struct store *store_new(const struct store_options *options);
void store_free(struct store *store); /* without reporting */

/* Reading. */
const void *store_view(const struct store *store, const char *ns,
                       const char *name); /* NULL when absent; ns may be NULL */
const struct store_item *store_get(const struct store *store, const char *key);
size_t store_count(const struct store *store);
size_t store_bytes(const struct store *store); /* of all items, as store_put got them */
const struct store_item *store_first(const struct store *store);
const struct store_item *store_next(const struct store_item *item);
/* All with this index key, in order: O(number of them). */
const struct store_item *store_first_of(const struct store *store, const char *index_key);
const struct store_item *store_next_of(const struct store_item *item);

/* Changing. Items without a name are rejected (false). `bytes` is the length of the item's text. */
bool store_put(struct store *store, const cJSON *item, size_t bytes);
bool store_delete(struct store *store, const cJSON *item); /* a DELETED event: its object is the last state */

/* A complete listing: everything that is not put again between begin and end is gone. begin forgets an
 * unfinished listing. */
void store_list_begin(struct store *store);
void store_list_end(struct store *store);
