#include "operator/reconcile/report/inventory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- in pages ---- */

struct listed {
    size_t controller; /* index */
    const struct vipu_partition *partition;
};

static int compare_listed(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;

    if (x->controller != y->controller)
        return x->controller < y->controller ? -1 : 1;
    return strcmp(x->partition->id, y->partition->id);
}

/* In an order that does not change when one of them goes. Owned by the caller. */
static struct listed *list_all(const struct reconciler *r, size_t *ret_count)
{
    struct listed *all;
    size_t most = 0;

    *ret_count = 0;
    for (size_t i = 0; i < pool_count(r->pool); i++)
        most += pool_controller(r->pool, i)->listed->count;
    all = mem_alloc((most + 1) * sizeof(*all));
    for (size_t i = 0; i < pool_count(r->pool); i++) {
        const struct vipu_partitions *listed = pool_controller(r->pool, i)->listed;

        for (size_t k = 0; k < listed->count; k++)
            all[(*ret_count)++] = (struct listed){i, &listed->items[k]};
    }
    if (*ret_count)
        qsort(all, *ret_count, sizeof(*all), compare_listed);
    return all;
}

/* An id may be any text of another client, so the token has it in hexadecimal. */
static char *encode_id(const char *id)
{
    AUTO(str) struct str out = {0};

    for (; *id; id++)
        (void)str_addf(&out, "%02x", (unsigned char)*id);
    return str_take(&out);
}

/* "INDEX_ID" of the last one on the page before. The id is owned by the caller. */
static bool read_token(const char *token, uint32_t *ret_controller, char **ret_id)
{
    AUTO(strv) struct strv parts = {0};
    AUTO(str) struct str id = {0};

    strv_split(token, '_', &parts);
    if (parts.count != 2 || !parse_u32(parts.items[0], 0, UINT32_MAX, ret_controller))
        return false;
    for (const char *at = parts.items[1]; *at; at += 2) {
        unsigned byte;

        /* NOLINTNEXTLINE(cert-err34-c): two digits */
        if (strspn(at, "0123456789abcdef") < 2 || sscanf(at, "%2x", &byte) != 1 || !byte)
            return false;
        (void)str_addc(&id, (char)byte);
    }
    *ret_id = str_take(&id);
    return true;
}

static size_t find_start(const struct listed *all, size_t count, uint32_t controller, const char *id)
{
    size_t at = 0;

    while (at < count && (all[at].controller < controller ||
                          (all[at].controller == controller && strcmp(all[at].partition->id, id) <= 0)))
        at++;
    return at;
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

cJSON *inventory_print(const struct reconciler *r, const struct page_request *page, struct err *err)
{
    size_t count, at = 0, end;
    uint32_t controller;
    AUTO(mem) char *id = NULL;
    AUTO(mem) struct listed *all = NULL;
    struct map pods = {0};
    cJSON *out, *list;

    if (page->after && !read_token(page->after, &controller, &id)) {
        page_token_invalid(err);
        return NULL;
    }
    all = list_all(r, &count);
    if (id)
        at = find_start(all, count, controller, id);
    end = count - at > page->limit ? at + page->limit : count;
    out = json_object();
    put_controllers(r, out);
    list = json_put_array(out, "partitions");
    find_pods(r, &pods);
    for (; at < end; at++)
        put_partition(r, pool_controller(r->pool, all[at].controller)->config->name, all[at].partition, &pods,
                      list);
    map_release(&pods);
    if (end > 0 && end < count) {
        AUTO(mem) char *last = encode_id(all[end - 1].partition->id);

        page_put_token(out, "%zu_%s", all[end - 1].controller, last);
    }
    return out;
}
