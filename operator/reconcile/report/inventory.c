#include "operator/reconcile/report/inventory.h"

#include "base/core/mem.h"
#include "operator/api/names.h"
#include "operator/reconcile/state/partitions.h"

/* The prefix of the vendor's operator for its ids. */
#define VENDORS_PREFIX "p"

static void put_record(cJSON *item, const struct record *record)
{
    json_put_str(item, "job", record_is_ownerless(record) ? "" : record->job_key);
    json_put_i64(item, "instance", record->instance);
    json_put_bool(item, "releasing", record->releasing);
}

static void put_jobs(const struct reconciler *r, const char *prefix, const char *id, cJSON *list)
{
    uint32_t instance;
    char *key;

    for (size_t at = 0; (key = partition_id_next_owner(prefix, id, &at, &instance));) {
        const struct store_item *found = store_get(watch_store(r->jobs), key);
        const struct job *job = found ? found->view : NULL;

        if (job && instance < job->spec.instances)
            json_push_str(list, job->key);
        mem_free(key);
    }
}

static void put_orphan(const struct reconciler *r, const char *id, const struct map *pods, cJSON *item)
{
    const struct pod *pod = map_get(pods, id);
    cJSON *jobs = json_put_array(item, "couldBeOf");

    put_jobs(r, r->options.partition_prefix, id, jobs);
    if (!str_eq(r->options.partition_prefix, VENDORS_PREFIX))
        put_jobs(r, VENDORS_PREFIX, id, jobs);
    if (pod)
        json_put_strf(item, "pod", "%s/%s", pod->ns, pod->name);
}

static void put_partition(const struct reconciler *r, const char *controller,
                          const struct vipu_partition *partition, const struct map *pods, cJSON *list)
{
    const struct record *record = reconciler_record(r, partition->id);
    cJSON *item = json_push_take(list, json_object());

    json_put_str(item, "controller", controller);
    json_put_str(item, "id", partition->id);
    json_put_i64(item, "ipus", partition->size);
    json_put_i64(item, "gcds", partition->num_gcds);
    json_put_str(item, "state", vipu_ready_state_name(partition->ready_state));
    if (record && !record->spent_s && str_eq(record->controller, controller))
        put_record(item, record);
    else
        put_orphan(r, partition->id, pods, item);
}

/* Pods that may still be running, by their partition. */
static void find_pods(const struct reconciler *r, struct map *ret)
{
    for (const struct store_item *i = store_first(watch_store(r->pods)); i; i = store_next(i)) {
        const struct pod *pod = i->view;

        if (pod->partition && !pod_has_stopped(pod, false, false))
            map_set(ret, pod->partition, (struct pod *)(uintptr_t)pod);
    }
}

cJSON *inventory_print(const struct reconciler *r)
{
    cJSON *out = json_object();
    cJSON *controllers = json_put_array(out, "controllers"), *list = json_put_array(out, "partitions");
    struct map pods = {0};

    find_pods(r, &pods);
    for (size_t i = 0; i < pool_count(r->pool); i++) {
        const struct pool_controller *c = pool_controller(r->pool, i);
        cJSON *item = json_push_take(controllers, json_object());

        json_put_str(item, "name", c->config->name);
        json_put_bool(item, "up", c->is_known);
        for (size_t k = 0; k < c->listed->count; k++)
            put_partition(r, c->config->name, &c->listed->items[k], &pods, list);
    }
    map_release(&pods);
    return out;
}
