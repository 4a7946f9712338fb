/* One kind of object, kept up to date: list, watch, and a store of small views of what is there. Asks for a
 * streaming list first and falls back to pages; items are cut out of the arriving bytes and parsed one at a
 * time. It recovers from errors of the connection and the server and from expired resource versions, and
 * keeps the store meanwhile.
 *
 * The caller turns an item into a view and owns nothing afterwards: views belong to the store and are freed
 * by view_free. All callbacks run from the loop. Callbacks must not free the watch. on_change is called
 * before the watch is synced too. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/doc/json.h"
#include "operator/kube/client/resource.h"
#include "operator/kube/watch/store.h"

struct kube;
struct watch;

struct watch_options {
    const struct kube_resource *resource;
    const char *ns;             /* NULL: all namespaces. Strings are copied. */
    const char *label_selector; /* NULL: everything */
    const char *field_selector; /* NULL: everything */

    /* Makes a view of an item (borrowed). False: this item is of no interest, or cannot be read; it is then
     * treated as not there, and the view function says in the log why if it wants to. */
    bool (*view)(void *ctx, const cJSON *item, void **ret_view);
    void (*view_free)(void *view);
    const char *(*index_key)(const void *view); /* e.g. the owner's uid, borrowed from the view; NULL: none */

    void (*on_change)(void *ctx, const struct store_change *change);
    void (*on_synced)(void *ctx); /* once: everything that existed is in the store. accepts NULL */
    /* The store has more than it may: the watch has ended. Borrowed for the callback. Needed with a limit. */
    void (*on_full)(void *ctx, const struct err *err);
    void *ctx;

    size_t max_items, max_bytes; /* of the store, bytes as they arrive; 0: no limit */

    int64_t idle_timeout_ms; /* a connection without a byte for so long is dead; 0: 90 s (bookmarks come each
                           minute) */
};

struct watch *watch_new(struct kube *kube, const struct watch_options *options); /* starts at the next turn */
void watch_free(struct watch *watch);

bool watch_is_synced(const struct watch *watch); /* true from the first complete list on */
const struct store *watch_store(const struct watch *watch);

/* Everything up to this version has been shown: its objects, or that they are gone by now. Versions of one
 * kind grow; a cluster where they are no numbers gets false. */
bool watch_has_passed(const struct watch *watch, const char *resource_version);
bool watch_can_compare(const char *resource_version); /* it is a number */

const char *watch_resource(const struct watch *watch); /* "pods" */
/* NULL while all is well; else why the store may be stale, and since when on the loop's clock. */
const struct err *watch_trouble(const struct watch *watch, int64_t *ret_since_ms);

struct watch_counters {
    uint64_t lists;   /* complete lists, streamed or paged */
    uint64_t pages;   /* page requests */
    uint64_t streams; /* watch requests */
    uint64_t items;   /* items and events parsed */
    uint64_t skipped; /* events of unknown type or wrong kind, and items that view rejected */
    uint64_t expired; /* 410 */
    uint64_t silent;  /* connections ended for silence */
};
const struct watch_counters *watch_counters(const struct watch *watch);
