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

struct page {
    const struct reconciler *r;
    struct map pods; /* that may still be running, by their partition */
    bool has_pods;   /* they are collected for the first partition without a record */
};

static void find_pods(const struct reconciler *r, struct map *ret)
{
    for (const struct store_item *i = store_first(watch_store(r->pods)); i; i = store_next(i)) {
        const struct pod *pod = i->view;

        if (pod->partition && !pod_has_stopped(pod, false, false))
            map_set(ret, pod->partition, (struct pod *)(uintptr_t)pod);
    }
}

static void put_orphan(struct page *page, const char *id, cJSON *item)
{
    const struct reconciler *r = page->r;
    const struct pod *pod;
    cJSON *jobs = json_put_array(item, "couldBeOf");

    put_jobs(r, r->options.partition_prefix, id, jobs);
    if (!str_eq(r->options.partition_prefix, VENDORS_PREFIX))
        put_jobs(r, VENDORS_PREFIX, id, jobs);
    if (!page->has_pods)
        find_pods(r, &page->pods);
    page->has_pods = true;
    pod = map_get(&page->pods, id);
    if (pod)
        json_put_strf(item, "pod", "%s/%s", pod->ns, pod->name);
}

/* ---- the list: by controller, then by id, so that nothing moves when one of them goes ---- */

void inventory_list(const void *ctx, struct page_snapshot *ret)
{
    const struct reconciler *r = ctx;

    for (size_t i = 0; i < pool_count(r->pool); i++) {
        const struct vipu_partitions *listed = pool_controller(r->pool, i)->listed;

        for (size_t k = 0; k < listed->count; k++)
            page_snapshot_add(ret, &(struct page_place){{i}, page_snapshot_keep(ret, listed->items[k].id)});
    }
}

static cJSON *print_partition(void *ctx, const struct page_place *place)
{
    struct page *page = ctx;
    const struct reconciler *r = page->r;
    const char *controller = pool_controller(r->pool, place->ranks[0])->config->name;
    const struct vipu_partition *partition = pool_listed(r->pool, controller, place->name);
    const struct record *record = reconciler_record(r, place->name);
    cJSON *item;

    if (!partition)
        return NULL;
    item = json_object();
    json_put_str(item, "controller", controller);
    json_put_str(item, "id", partition->id);
    json_put_i64(item, "ipus", partition->size);
    json_put_i64(item, "gcds", partition->num_gcds);
    json_put_str(item, "state", vipu_ready_state_name(partition->ready_state));
    if (record && !record->spent_s && str_eq(record->controller, controller))
        put_record(item, record);
    else
        put_orphan(page, partition->id, item);
    return item;
}

static void put_controllers(const struct reconciler *r, cJSON *out)
{
    cJSON *controllers = json_put_array(out, "controllers");

    for (size_t i = 0; i < pool_count(r->pool); i++) {
        const struct pool_controller *c = pool_controller(r->pool, i);
        cJSON *item = json_push_take(controllers, json_object());

        json_put_str(item, "name", c->config->name);
        json_put_bool(item, "up", c->is_known);
    }
}

void inventory_print(struct reconciler *r, const struct page_snapshot *snapshot,
                     const struct page_request *request, cJSON *out)
{
    struct page page = {.r = r};

    put_controllers(r, out);
    page_snapshot_print(snapshot, PAGE_PARTITIONS, request, print_partition, &page, out);
    map_release(&page.pods);
}
