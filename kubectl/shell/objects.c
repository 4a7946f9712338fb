#include "kubectl/shell/objects.h"

#include "base/core/visible.h"

static bool keep_object(void *ctx, const cJSON *item, void **ret_view)
{
    cJSON *copy = json_dup(item);

    (void)ctx;
    json_make_visible(copy, VISIBLE_LINES);
    *ret_view = copy;
    return true;
}

static void free_object(void *view)
{
    cJSON_Delete(view);
}

struct watch *objects_watch(struct session *session, const struct watch_options *options)
{
    struct watch_options whole = *options;

    whole.view = keep_object;
    whole.view_free = free_object;
    whole.max_items = OBJECTS_MAX;
    whole.max_bytes = BYTES_MAX;
    return watch_new(session->kube, &whole);
}

cJSON *objects_of(const struct watch *watch)
{
    cJSON *objects = json_array();

    for (const struct store_item *item = store_first(watch_store(watch)); item; item = store_next(item))
        json_push_take(objects, json_dup(item->view));
    return objects;
}
