#include <string.h>

#include "local/api/api.h"
#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "base/io/loop.h"

/* History is for watches that are behind; who is further behind lists again. */
#define HISTORY_MAX 20000u

void api_init(struct api *api, struct loop *loop)
{
    *api = (struct api){.loop = loop, .version = 100};
}

static void object_free(struct api_object *object)
{
    cJSON_Delete(object->doc);
    mem_free(object->key);
    mem_free(object->ns);
    mem_free(object->name);
    mem_free(object->uid);
    mem_free(object);
}

static void change_release(struct api_change *change)
{
    mem_free(change->key);
    mem_free(change->ns);
    mem_free(change->text);
    cJSON_Delete(change->labels);
}

static void drop_history(struct api *api, size_t count)
{
    for (size_t i = 0; i < count; i++)
        change_release(&api->history[i]);
    if (count)
        api->expired = api->history[count - 1].version;
    api->history_count -= count;
    memmove(api->history, api->history + count, api->history_count * sizeof(*api->history));
}

void api_release(struct api *api)
{
    void *value;

    api_watches_release(api);
    api_snapshots_release(api);
    for (size_t kind = 0; kind < api_kind_count; kind++) {
        for (size_t i = 0; map_next(&api->objects[kind], &i, NULL, &value);)
            object_free(value);
        map_release(&api->objects[kind]);
    }
    drop_history(api, api->history_count);
    mem_free(api->history);
}

/* ---- finding ---- */

static struct map *objects_of(const struct api *api, const struct api_kind *kind)
{
    return (struct map *)&api->objects[kind - api_kinds];
}

struct map *api_objects(struct api *api, const char *plural)
{
    for (size_t i = 0; i < api_kind_count; i++) {
        if (str_eq(api_kinds[i].plural, plural))
            return &api->objects[i];
    }
    return NULL;
}

static char *key_of(const char *ns, const char *name)
{
    return ns ? mem_printf("%s/%s", ns, name) : mem_strdup(name);
}

struct api_object *api_find(const struct api *api, const char *plural, const char *ns, const char *name)
{
    AUTO(mem) char *key = key_of(ns, name);

    return map_get(api_objects((struct api *)api, plural), key);
}

/* ---- history ---- */

/* Kept at each change: many objects are looked through for those of one job. */
static const char *job_uid_of(const cJSON *doc)
{
    const cJSON *owners = json_at(doc, "metadata/ownerReferences");

    return owners && owners->child ? json_str(owners->child, "uid", "") : json_str(doc, "data/jobUid", "");
}

static void commit(struct api *api, struct api_object *object, enum api_change_type type)
{
    cJSON *metadata = json_at_mut(object->doc, "metadata");

    object->version = ++api->version;
    object->job_uid = job_uid_of(object->doc);
    api->has_changed[object->kind - api_kinds] = true;
    json_drop(metadata, "resourceVersion");
    json_put_strf(metadata, "resourceVersion", "%llu", (unsigned long long)object->version);
    if (api->history_count >= HISTORY_MAX)
        drop_history(api, HISTORY_MAX / 2);
    api->history = mem_grow(api->history, api->history_count + 1, sizeof(*api->history));
    api->history[api->history_count++] = (struct api_change){
        .type = type,
        .kind = object->kind,
        .version = object->version,
        .key = mem_strdup(object->key),
        .ns = mem_strdup(object->ns),
        .text = json_print(object->doc),
        .labels = json_dup(json_at(metadata, "labels")),
    };
    if (api->hook)
        api->hook(api->hook_ctx, type, object);
    api_watches_tell(api);
}

void api_expire_history(struct api *api)
{
    drop_history(api, api->history_count);
    api->expired = api->version;
}

/* ---- changing ---- */

static void put_now(cJSON *metadata, const char *key, int64_t in_s)
{
    char text[TIMEFMT_RFC3339_SIZE];

    timefmt_rfc3339(loop_unix_micros() / 1000000 + in_s, text);
    json_drop(metadata, key);
    json_put_str(metadata, key, text);
}

void api_set_defaults(const struct api_kind *kind, cJSON *doc)
{
    if (kind->has_generation)
        json_put_i64(json_at_mut(doc, "metadata"), "generation", 1);
    if (kind->has_status)
        json_drop(doc, "status");
    if (str_eq(kind->plural, "pods"))
        json_put_str(json_put_object(doc, "status"), "phase", "Pending");
}

struct api_object *api_create(struct api *api, const char *plural, cJSON *doc_take)
{
    struct api_object *object = NEW(struct api_object);
    cJSON *metadata = json_at_mut(doc_take, "metadata");
    struct map *objects = api_objects(api, plural);

    object->kind = &api_kinds[objects - api->objects];
    object->doc = doc_take;
    object->ns = mem_strdup(json_str(metadata, "namespace", NULL));
    object->name = mem_strdup(json_str(metadata, "name", ""));
    object->key = key_of(object->ns, object->name);
    object->uid =
        mem_printf("%08llx-0000-4000-8000-%012llx", (unsigned long long)(loop_random_u32() | 0x10000000u),
                   (unsigned long long)++api->uids);
    json_put_str(metadata, "uid", object->uid);
    put_now(metadata, "creationTimestamp", 0);
    api_set_defaults(object->kind, doc_take);
    map_set(objects, object->key, object);
    commit(api, object, API_ADDED);
    return object;
}

void api_changed(struct api *api, struct api_object *object)
{
    commit(api, object, API_MODIFIED);
}

void api_remove(struct api *api, struct api_object *object)
{
    map_remove(objects_of(api, object->kind), object->key);
    commit(api, object, API_DELETED);
    object_free(object);
}

static bool has_finalizers(const struct api_object *object)
{
    const cJSON *finalizers = json_at(object->doc, "metadata/finalizers");

    return finalizers && finalizers->child;
}

/* A pod that a node has, and that has not ended, goes when its node says so. */
static bool waits_for_node(const struct api_object *object)
{
    const char *phase = json_str(object->doc, "status/phase", "");

    return str_eq(object->kind->plural, "pods") && json_str(object->doc, "spec/nodeName", NULL) &&
           !str_eq(phase, "Succeeded") && !str_eq(phase, "Failed");
}

static void mark_deleted(struct api *api, struct api_object *object, int64_t grace_s)
{
    cJSON *metadata = json_at_mut(object->doc, "metadata");

    put_now(metadata, "deletionTimestamp", grace_s);
    json_put_i64(metadata, "deletionGracePeriodSeconds", grace_s);
    if (object->kind->has_generation)
        json_put_i64(metadata, "generation", json_i64(metadata, "generation", 0) + 1);
    commit(api, object, API_MODIFIED);
}

void api_delete(struct api *api, struct api_object *object, int64_t grace_s)
{
    const cJSON *metadata = json_at(object->doc, "metadata");
    bool is_deleting = json_at(metadata, "deletionTimestamp") != NULL;
    bool is_pod = str_eq(object->kind->plural, "pods"), is_marked = is_pod && !is_deleting;

    if (grace_s < 0)
        grace_s = is_pod ? json_i64(object->doc, "spec/terminationGracePeriodSeconds", 30) : 0;
    if (!waits_for_node(object))
        grace_s = 0;
    if (grace_s == 0 && !has_finalizers(object)) {
        if (is_marked) /* as the real one does it */
            mark_deleted(api, object, 0);
        api_remove(api, object);
        return;
    }
    if (!is_deleting || json_i64(metadata, "deletionGracePeriodSeconds", 0) > grace_s)
        mark_deleted(api, object, grace_s);
}
