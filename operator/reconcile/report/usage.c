#include "operator/reconcile/report/usage.h"

#include "base/core/mem.h"
#include "operator/reconcile/state/reconciler_state.h"

/* Returns "used". */
static cJSON *put_usage(cJSON *out, const char *name, int64_t used, int64_t available)
{
    cJSON *item = json_put_object(out, name);
    cJSON *number = json_put_i64(item, "used", used);

    json_put_i64(item, "available", available);
    return number;
}

static int64_t available(const struct reconciler *r)
{
    int64_t free_ipus = 0;

    for (size_t i = 0; i < pool_count(r->pool); i++) {
        AUTO(vipu_pool_view) struct vipu_pool_view room = pool_free_capacity(r->pool, i);

        if (pool_controller(r->pool, i)->is_known)
            free_ipus += room.free_ipus;
    }
    return free_ipus;
}

cJSON *usage_stats(const struct reconciler *r)
{
    int64_t free_ipus = available(r), total = 0;
    cJSON *out = json_object();
    struct map namespaces = {
        0}; /* name -> "used" of its member: anyone may ask, so each record costs little */

    for (const struct store_item *i = store_first(watch_store(r->records)); i; i = store_next(i)) {
        const struct record *record = i->view;
        cJSON *used;

        if (!record_holds_ipus(record, pool_listed(r->pool, record->controller, record->name)))
            continue;
        used = map_get(&namespaces, record->job_ns);
        if (!used) {
            used = put_usage(out, record->job_ns, 0, free_ipus);
            map_set(&namespaces, record->job_ns, used);
        }
        cJSON_SetNumberValue(used, used->valuedouble + record->size);
        total += record->size;
    }
    map_release(&namespaces);
    put_usage(out, "total", total, free_ipus);
    return out;
}

cJSON *usage_query(const struct reconciler *r, uint32_t size)
{
    uint32_t count = 0, largest = 0;
    bool answers = false;
    cJSON *out = json_object();

    for (size_t i = 0; i < pool_count(r->pool); i++) {
        AUTO(vipu_pool_view) struct vipu_pool_view room = pool_free_capacity(r->pool, i);
        uint32_t fits = vipu_pool_largest_free(&room);

        if (!pool_controller(r->pool, i)->is_known)
            continue;
        answers = true;
        count += vipu_pool_fit_count(&room, size);
        largest = fits > largest ? fits : largest;
    }
    json_put_bool(out, "available", answers);
    json_put_i64(out, "numOfPartitions", count);
    if (!answers)
        json_put_str(out, "message", "no V-IPU controller is responding");
    else
        json_put_str(out, "message", "");
    json_put_i64(out, "largestPartition", largest);
    return out;
}

static void put_room(cJSON *item, const struct reconciler *r, size_t index)
{
    AUTO(vipu_pool_view) struct vipu_pool_view room = pool_free_capacity(r->pool, index);
    uint32_t total = pool_controller(r->pool, index)->total_ipus;

    if (!total) /* the controller did not report it */
        return;
    json_put_i64(item, "ipus", total);
    json_put_i64(item, "freeIpus", room.free_ipus);
    json_put_i64(item, "largestPartition", vipu_pool_largest_free(&room));
}

static void put_trouble(cJSON *item, const struct pool_controller *controller, int64_t now_ms)
{
    if (!controller->trouble)
        return; /* it was not requested yet */
    json_put_str(item, "error", controller->trouble);
    json_put_i64(item, "downSeconds", (now_ms - controller->trouble_since_ms) / 1000);
}

/* In the order of the configuration. */
void usage_list_controllers(const void *ctx, struct page_snapshot *ret)
{
    const struct reconciler *r = ctx;

    for (size_t i = 0; i < pool_count(r->pool); i++)
        page_snapshot_add(ret, &(struct page_place){{i}, ""});
}

static cJSON *print_controller(void *ctx, const struct page_place *place)
{
    const struct reconciler *r = ctx;
    const struct pool_controller *controller = pool_controller(r->pool, place->ranks[0]);
    cJSON *item = json_object();

    json_put_str(item, "name", controller->config->name);
    json_put_bool(item, "up", controller->is_known);
    if (controller->security != POOL_SECURITY_UNKNOWN)
        json_put_bool(item, "secureMode", controller->security == POOL_SECURE);
    if (controller->is_known)
        put_room(item, r, place->ranks[0]);
    else
        put_trouble(item, controller, loop_now_ms(r->loop));
    return item;
}

void usage_print_controllers(struct reconciler *r, const struct page_snapshot *snapshot,
                             const struct page_request *request, cJSON *out)
{
    page_snapshot_print(snapshot, PAGE_CONTROLLERS, request, print_controller, r, out);
}
