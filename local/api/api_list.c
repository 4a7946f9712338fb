/* Lists in pages. A page after the first comes from the snapshot that the first one has made, as with etcd.
 */
#include <stdlib.h>
#include <string.h>

#include "local/api/api.h"
#include "base/core/mem.h"
#include "base/io/loop.h"

struct snapshot {
    uint64_t version;
    char **items; /* printed objects */
    size_t count, at;
};

static int by_key(const void *a, const void *b)
{
    return strcmp((*(struct api_object *const *)a)->key, (*(struct api_object *const *)b)->key);
}

struct api_object **api_select(struct api *api, const struct api_target *target, size_t *ret_count)
{
    struct map *objects = api_objects(api, target->kind->plural);
    struct api_object **found = mem_alloc((objects->count + 1) * sizeof(struct api_object *));
    const char *selector = api_target_query(target, "labelSelector");
    void *value;

    *ret_count = 0;
    for (size_t i = 0; map_next(objects, &i, NULL, &value);) {
        struct api_object *object = value;

        if ((!target->ns || str_eq(object->ns, target->ns)) &&
            api_selects(selector, json_at(object->doc, "metadata/labels")))
            found[(*ret_count)++] = object;
    }
    if (*ret_count > 1)
        qsort(found, *ret_count, sizeof(struct api_object *), by_key);
    return found;
}

/* ---- snapshots ---- */

static void snapshot_free(struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++)
        mem_free(snapshot->items[i]);
    mem_free(snapshot->items);
    mem_free(snapshot);
}

void api_snapshots_release(struct api *api)
{
    void *value;

    for (size_t i = 0; map_next(&api->snapshots, &i, NULL, &value);)
        snapshot_free(value);
    map_release(&api->snapshots);
    api->snapshots = (struct map){0};
}

static struct snapshot *snapshot_now(struct api *api, const struct api_target *target)
{
    struct snapshot *snapshot = NEW(struct snapshot);
    AUTO(mem) struct api_object **found = api_select(api, target, &snapshot->count);

    snapshot->version = api->version;
    snapshot->items = mem_alloc((snapshot->count + 1) * sizeof(char *));
    for (size_t i = 0; i < snapshot->count; i++)
        snapshot->items[i] = json_print(found[i]->doc);
    return snapshot;
}

/* What a list looked like at an earlier version: history knows what has become of each object since. */
static struct snapshot *snapshot_then(struct api *api, const struct api_target *target, uint64_t version)
{
    struct snapshot *now = snapshot_now(api, target);
    struct map then = {0}; /* key -> text */
    const char *selector = api_target_query(target, "labelSelector");
    struct snapshot *old = NEW(struct snapshot);
    void *value;

    snapshot_free(now);
    for (size_t i = 0; i < api->history_count && api->history[i].version <= version; i++) {
        struct api_change *change = &api->history[i];

        if (change->kind != target->kind || (target->ns && !str_eq(change->ns, target->ns)) ||
            !api_selects(selector, change->labels))
            continue;
        if (change->type == API_DELETED)
            map_remove(&then, change->key);
        else
            map_set(&then, change->key, change->text);
    }
    old->version = version;
    old->items = mem_alloc((then.count + 1) * sizeof(char *));
    for (size_t i = 0; map_next(&then, &i, NULL, &value);)
        old->items[old->count++] = mem_strdup(value);
    map_release(&then);
    return old;
}

/* "Any version" may be an old one, as long as history reaches back to the beginning. */
static struct snapshot *snapshot_for(struct api *api, const struct api_target *target)
{
    bool is_any = str_eq(api_target_query(target, "resourceVersion"), "0");

    if (is_any && api->expired == 0 && api->history_count && api->stale_permille &&
        loop_random_u32() % 1000 < api->stale_permille)
        return snapshot_then(api, target, api->history[loop_random_u32() % api->history_count].version);
    return snapshot_now(api, target);
}

/* ---- pages ---- */

static void print_page(const struct api_target *target, struct snapshot *snapshot, size_t limit,
                       const char *next, struct api_answer *ret)
{
    struct str out = {.max = (size_t)256 * 1024 * 1024};
    size_t end = limit && snapshot->at + limit < snapshot->count ? snapshot->at + limit : snapshot->count;

    str_addf(&out, "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"%llu\"",
             target->kind->kind, strchr(target->kind->path + 1, '/') + 1,
             (unsigned long long)snapshot->version);
    if (end < snapshot->count)
        str_addf(&out, ",\"continue\":\"%s\"", next);
    str_adds(&out, "},\"items\":[");
    for (size_t from = snapshot->at; snapshot->at < end; snapshot->at++) {
        str_adds(&out, snapshot->at == from ? "" : ",");
        str_adds(&out, snapshot->items[snapshot->at]);
    }
    str_adds(&out, "]}");
    *ret = (struct api_answer){.status = 200, .body = str_take(&out), .retry_after_ms = -1};
}

static size_t limit_of(const struct api *api, const struct api_target *target)
{
    uint32_t limit = 0;

    parse_u32(api_target_query(target, "limit") ? api_target_query(target, "limit") : "", 1, UINT32_MAX,
              &limit);
    return limit && api->page_limit && api->page_limit < limit ? api->page_limit : limit;
}

void api_list(struct api *api, const struct api_target *target, struct api_answer *ret)
{
    const char *token = api_target_query(target, "continue");
    struct snapshot *snapshot = token ? map_remove(&api->snapshots, token) : snapshot_for(api, target);
    AUTO(mem) char *next = NULL;

    if (!snapshot || (token && snapshot->version < api->expired)) {
        if (snapshot)
            snapshot_free(snapshot);
        api_reject(ret, 410, "Expired", "The provided continue parameter is too old");
        return;
    }
    next = mem_printf("c%llu", (unsigned long long)++api->uids);
    print_page(target, snapshot, limit_of(api, target), next, ret);
    if (snapshot->at < snapshot->count)
        map_set(&api->snapshots, next, snapshot);
    else
        snapshot_free(snapshot);
}
