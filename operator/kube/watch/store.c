#include "operator/kube/watch/store.h"

#include <string.h>

#include "base/core/map.h"
#include "base/core/mem.h"

/* One block: there are as many of them as pods. */
struct entry {
    struct store_item item; /* first: readers hold pointers to it */
    uint64_t version;       /* hash of the resource version, which is compared for equality only */
    struct entry *prev, *next;
    struct bucket *bucket; /* NULL: not indexed */
    struct entry *bucket_prev, *bucket_next;
    unsigned bytes;  /* of its text */
    unsigned seen;   /* the listing that last showed it */
    unsigned uid_at; /* length of the names up to the uid */
    char names[];    /* the key, and the uid */
};

struct bucket {
    char *index_key;
    struct entry *first, *last;
};

struct store {
    struct store_options options;
    struct map by_key;
    struct map buckets;
    struct entry *first, *last;
    size_t bytes;
    unsigned listing;
    size_t seen_count; /* of what this listing has shown */
};

/* What an item says about itself; borrowed from it. */
struct identity_of_item {
    const char *ns, *name, *uid, *resource_version;
};

struct store *store_new(const struct store_options *options)
{
    struct store *store = NEW(struct store);

    store->options = *options;
    store->by_key.borrows_keys = true; /* stored in the entries */
    return store;
}

static void *view_of(const struct entry *entry)
{
    return (void *)(uintptr_t)entry->item.view;
}

static const char *uid_of(const struct entry *entry)
{
    return entry->names + entry->uid_at;
}

static void entry_free(struct store *store, struct entry *entry)
{
    store->options.view_free(view_of(entry));
    mem_free(entry);
}

static void bucket_leave(struct store *store, struct entry *entry)
{
    struct bucket *bucket = entry->bucket;

    if (bucket == NULL)
        return;
    *(entry->bucket_prev != NULL ? &entry->bucket_prev->bucket_next : &bucket->first) = entry->bucket_next;
    *(entry->bucket_next != NULL ? &entry->bucket_next->bucket_prev : &bucket->last) = entry->bucket_prev;
    entry->bucket = NULL;
    entry->bucket_prev = entry->bucket_next = NULL;
    if (bucket->first != NULL)
        return;
    map_remove(&store->buckets, bucket->index_key);
    mem_free(bucket->index_key);
    mem_free(bucket);
}

static struct bucket *bucket_for(struct store *store, const char *index_key)
{
    struct bucket *bucket = map_get(&store->buckets, index_key);

    if (bucket == NULL) {
        bucket = NEW(struct bucket);
        bucket->index_key = mem_strdup(index_key);
        map_set(&store->buckets, index_key, bucket);
    }
    return bucket;
}

static void bucket_join(struct store *store, struct entry *entry, const char *index_key)
{
    struct bucket *bucket = bucket_for(store, index_key);

    entry->bucket = bucket;
    entry->bucket_prev = bucket->last;
    *(bucket->last != NULL ? &bucket->last->bucket_next : &bucket->first) = entry;
    bucket->last = entry;
}

/* After the view changed. */
static void reindex(struct store *store, struct entry *entry)
{
    const char *index_key =
        store->options.index_key != NULL ? store->options.index_key(entry->item.view) : NULL;

    if (str_eq(index_key, entry->bucket != NULL ? entry->bucket->index_key : NULL))
        return;
    bucket_leave(store, entry);
    if (index_key != NULL)
        bucket_join(store, entry, index_key);
}

static void set_bytes(struct store *store, struct entry *entry, size_t bytes)
{
    store->bytes += bytes - entry->bytes;
    entry->bytes = (unsigned)bytes;
}

static void note_seen(struct store *store, struct entry *entry)
{
    store->seen_count += entry->seen != store->listing;
    entry->seen = store->listing;
}

static void unlink_entry(struct store *store, struct entry *entry)
{
    set_bytes(store, entry, 0);
    store->seen_count -= entry->seen == store->listing;
    *(entry->prev != NULL ? &entry->prev->next : &store->first) = entry->next;
    *(entry->next != NULL ? &entry->next->prev : &store->last) = entry->prev;
    bucket_leave(store, entry);
    map_remove(&store->by_key, entry->item.key);
}

void store_free(struct store *store)
{
    if (store == NULL)
        return;
    while (store->first != NULL) {
        struct entry *entry = store->first;

        unlink_entry(store, entry);
        entry_free(store, entry);
    }
    map_release(&store->by_key);
    map_release(&store->buckets);
    mem_free(store);
}

static char *key_of(const char *ns, const char *name)
{
    return ns[0] != '\0' ? mem_printf("%s/%s", ns, name) : mem_strdup(name);
}

const void *store_view(const struct store *store, const char *ns, const char *name)
{
    AUTO(mem) char *key = key_of(ns != NULL ? ns : "", name);
    const struct store_item *item = store_get(store, key);

    return item != NULL ? item->view : NULL;
}

const struct store_item *store_get(const struct store *store, const char *key)
{
    return map_get(&store->by_key, key); /* a struct entry starts with its item */
}

size_t store_count(const struct store *store)
{
    return store->by_key.count;
}

static const struct store_item *item_of(const struct entry *entry)
{
    return entry != NULL ? &entry->item : NULL;
}

static const struct entry *entry_of(const struct store_item *item)
{
    return (const struct entry *)(const void *)item;
}

size_t store_bytes(const struct store *store)
{
    return store->bytes;
}

const struct store_item *store_first(const struct store *store)
{
    return item_of(store->first);
}

const struct store_item *store_next(const struct store_item *item)
{
    return item_of(entry_of(item)->next);
}

const struct store_item *store_first_of(const struct store *store, const char *index_key)
{
    const struct bucket *bucket = map_get(&store->buckets, index_key);

    return bucket != NULL ? item_of(bucket->first) : NULL;
}

const struct store_item *store_next_of(const struct store_item *item)
{
    return item_of(entry_of(item)->bucket_next);
}

static void report(struct store *store, const struct entry *entry, const void *before, const void *old,
                   const void *new, bool unseen)
{
    struct store_change change = {
        .key = entry->item.key,
        .uid = uid_of(entry),
        .old = old,
        .new = new,
        .before = before,
        .final_state_unknown = unseen,
    };

    if (store->options.on_change != NULL)
        store->options.on_change(store->options.ctx, &change);
}

static void vanish(struct store *store, struct entry *entry, const void *before, bool unseen)
{
    unlink_entry(store, entry);
    report(store, entry, before, entry->item.view, NULL, unseen);
    entry_free(store, entry);
}

static bool identify(const cJSON *item, struct identity_of_item *ret)
{
    const cJSON *metadata = json_at(item, "metadata");

    *ret = (struct identity_of_item){
        .ns = json_str(metadata, "namespace", ""),
        .name = json_str(metadata, "name", ""),
        .uid = json_str(metadata, "uid", ""),
        .resource_version = json_str(metadata, "resourceVersion", ""),
    };
    return ret->name[0] != '\0';
}

static struct entry *find(const struct store *store, const struct identity_of_item *id)
{
    AUTO(mem) char *key = key_of(id->ns, id->name);

    return map_get(&store->by_key, key);
}

static struct entry *entry_new(const struct identity_of_item *id)
{
    AUTO(mem) char *key = key_of(id->ns, id->name);
    size_t key_size = strlen(key) + 1, uid_size = strlen(id->uid) + 1;
    struct entry *entry = mem_alloc(sizeof(*entry) + key_size + uid_size);

    entry->bytes = 0;
    entry->uid_at = (unsigned)key_size;
    entry->item.key = memcpy(entry->names, key, key_size);
    memcpy(entry->names + key_size, id->uid, uid_size);
    return entry;
}

static void add(struct store *store, const struct identity_of_item *id, void *view, size_t bytes)
{
    struct entry *entry = entry_new(id);

    set_bytes(store, entry, bytes);
    entry->version = str_hash(id->resource_version);
    entry->item.view = view;
    entry->seen = store->listing;
    store->seen_count++;
    entry->prev = store->last;
    *(store->last != NULL ? &store->last->next : &store->first) = entry;
    store->last = entry;
    map_set(&store->by_key, entry->item.key, entry);
    reindex(store, entry);
    report(store, entry, NULL, NULL, view, false);
}

static void replace(struct store *store, struct entry *entry, const struct identity_of_item *id, void *view,
                    size_t bytes)
{
    void *old = view_of(entry);

    set_bytes(store, entry, bytes);
    entry->version = str_hash(id->resource_version);
    entry->item.view = view;
    reindex(store, entry);
    report(store, entry, old, old, view, false);
    store->options.view_free(old);
}

static bool is_known_version(const struct entry *entry, const struct identity_of_item *id)
{
    return id->resource_version[0] != '\0' && entry->version == str_hash(id->resource_version);
}

bool store_put(struct store *store, const cJSON *item, size_t bytes)
{
    struct identity_of_item id;
    struct entry *entry;
    void *view = NULL;

    if (!identify(item, &id))
        return false;
    entry = find(store, &id);
    if (entry != NULL && !str_eq(uid_of(entry), id.uid)) {
        vanish(store, entry, entry->item.view, true);
        entry = NULL;
    }
    if (entry != NULL)
        note_seen(store, entry);
    if (entry != NULL && is_known_version(entry, &id))
        return true;
    if (!store->options.view(store->options.ctx, item, &view)) {
        if (entry != NULL)
            vanish(store, entry, entry->item.view, false);
        return false;
    }
    if (entry != NULL)
        replace(store, entry, &id, view, bytes);
    else
        add(store, &id, view, bytes);
    return true;
}

bool store_delete(struct store *store, const cJSON *item)
{
    struct identity_of_item id;
    struct entry *entry;
    void *last = NULL, *before;

    if (!identify(item, &id))
        return false;
    entry = find(store, &id);
    if (entry == NULL || !str_eq(uid_of(entry), id.uid))
        return true; /* a replay of something already gone */
    before = view_of(entry);
    if (store->options.view(store->options.ctx, item, &last))
        entry->item.view = last;
    vanish(store, entry, before, false);
    if (last)
        store->options.view_free(before);
    return true;
}

void store_list_begin(struct store *store)
{
    store->listing++;
    store->seen_count = 0;
}

void store_list_end(struct store *store)
{
    for (struct entry *entry = store->first; store->seen_count < store->by_key.count;) {
        struct entry *next = entry->next;

        if (entry->seen != store->listing)
            vanish(store, entry, entry->item.view, true);
        entry = next;
    }
}
