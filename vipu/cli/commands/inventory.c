#include "vipu/cli/commands/inventory.h"

#include "base/core/map.h"
#include "base/core/mem.h"
#include "vipu/cli/output/show_inventory.h"
#include "vipu/client/extension.h"

/* A controller may have very many partitions, hence a hash table and no search. */
static bool is_new(struct map *seen, const char *id)
{
    static char mark;

    return *id && !map_set(seen, id, &mark);
}

static void named_allocations(const struct vipu_partitions *partitions, struct vipu_allocation_list *ret)
{
    struct map seen = {0};

    for (size_t i = 0; i < partitions->count; i++) {
        const struct vipu_partition *p = &partitions->items[i];

        if (!is_new(&seen, p->allocation_id))
            continue;
        ret->items = mem_grow(ret->items, ret->count + 1, sizeof(*ret->items));
        ret->items[ret->count++] = (struct vipu_allocation_entry){.id = mem_strdup(p->allocation_id),
                                                                  .cluster_id = mem_strdup(p->cluster_id)};
    }
    map_release(&seen);
}

bool inventory_allocations(struct vipu_sync_client *client, struct vipu_allocation_list *ret,
                           bool *ret_partial, struct err *err)
{
    AUTO(vipu_partitions) struct vipu_partitions partitions = {0};

    *ret_partial = false;
    if (extension_allocations(client, ret, err))
        return true;
    if (!extension_is_missing(err) || !vipu_sync_partitions(client, NULL, &partitions, err))
        return false;
    *ret_partial = true;
    named_allocations(&partitions, ret);
    return true;
}

static void named_clusters(const struct vipu_partitions *partitions, struct vipu_cluster_list *ret)
{
    struct map seen = {0};

    for (size_t i = 0; i < partitions->count; i++) {
        const struct vipu_partition *p = &partitions->items[i];

        if (!is_new(&seen, p->cluster_id))
            continue;
        ret->items = mem_grow(ret->items, ret->count + 1, sizeof(*ret->items));
        ret->items[ret->count++] = (struct vipu_cluster_entry){
            .id = mem_strdup(p->cluster_id), .topology = mem_strdup(""), .cluster_topology = mem_strdup("")};
    }
    map_release(&seen);
}

bool inventory_clusters(struct vipu_sync_client *client, struct vipu_cluster_list *ret, bool *ret_partial,
                        struct err *err)
{
    AUTO(vipu_partitions) struct vipu_partitions partitions = {0};

    *ret_partial = false;
    if (extension_clusters(client, ret, err))
        return true;
    if (!extension_is_missing(err) || !vipu_sync_partitions(client, NULL, &partitions, err))
        return false;
    *ret_partial = true;
    named_clusters(&partitions, ret);
    return true;
}

static const struct vipu_cluster_entry *find_cluster(const struct vipu_cluster_list *list, const char *id)
{
    for (size_t i = 0; i < list->count; i++)
        if (str_eq(list->items[i].id, id))
            return &list->items[i];
    return NULL;
}

static const char *cluster_id_of(const struct vipu_allocation_list *list, const char *allocation_id)
{
    for (size_t i = 0; i < list->count; i++)
        if (str_eq(list->items[i].id, allocation_id))
            return list->items[i].cluster_id;
    return "";
}

bool inventory_cluster_of(struct vipu_sync_client *client, const char *id, const char *allocation_id,
                          struct vipu_cluster_list *ret_list, const struct vipu_cluster_entry **ret,
                          struct err *err)
{
    AUTO(vipu_allocation_list) struct vipu_allocation_list allocations = {0};

    *ret = NULL;
    if (!extension_clusters(client, ret_list, err))
        return extension_is_missing(err);
    if (id) {
        *ret = find_cluster(ret_list, id);
        return true;
    }
    if (!extension_allocations(client, &allocations, err))
        return false;
    *ret = find_cluster(ret_list, cluster_id_of(&allocations, allocation_id));
    return true;
}

static void remark(struct command_context *c, const char *kind)
{
    strv_pushf(c->remarks,
               "this controller cannot list %ss (no call in the public V-IPU API); showing those named by "
               "its partitions",
               kind);
}

bool inventory_list_allocations(struct command_context *c, struct err *err)
{
    AUTO(vipu_allocation_list) struct vipu_allocation_list list = {0};
    bool partial;

    if (!inventory_allocations(c->client, &list, &partial, err))
        return false;
    if (partial)
        remark(c, "allocation");
    show_allocations(&list, c->options->showjson, c->out);
    return true;
}

bool inventory_list_clusters(struct command_context *c, struct err *err)
{
    AUTO(vipu_cluster_list) struct vipu_cluster_list list = {0};
    bool partial;

    if (!inventory_clusters(c->client, &list, &partial, err))
        return false;
    if (partial)
        remark(c, "cluster");
    show_clusters(&list, c->options->showjson, c->out);
    return true;
}

static bool fail(struct command_context *c, const char *kind, struct err *err)
{
    if (extension_is_missing(err))
        err_set(err, ERR_INVALID, "not supported by this controller (no call in the public V-IPU API)");
    else if (*vipu_sync_reason(c->client))
        str_addf(c->failure, "get %s (%s): failed: %s", kind, c->id, vipu_sync_reason(c->client));
    return err_wrap(err, "get %s (%s): failed", kind, c->id);
}

bool inventory_get_allocation(struct command_context *c, struct err *err)
{
    AUTO(vipu_allocation_list) struct vipu_allocation_list list = {0};
    AUTO(vipu_capacity) struct vipu_capacity capacity = {0};

    if (!extension_allocations(c->client, &list, err) ||
        !extension_capacity(c->client, NULL, c->id, &capacity, err))
        return fail(c, "allocation", err);
    for (size_t i = 0; i < list.count; i++) {
        if (!str_eq(list.items[i].id, c->id))
            continue;
        show_allocation(&list.items[i], &capacity, c->options->showjson, c->out);
        return true;
    }
    err_set(err, ERR_NOT_FOUND, "not found on the controller");
    return fail(c, "allocation", err);
}

bool inventory_get_cluster(struct command_context *c, struct err *err)
{
    AUTO(vipu_cluster_list) struct vipu_cluster_list list = {0};
    AUTO(vipu_capacity) struct vipu_capacity capacity = {0};
    const struct vipu_cluster_entry *cluster;

    if (!extension_clusters(c->client, &list, err) ||
        !extension_capacity(c->client, c->id, NULL, &capacity, err))
        return fail(c, "cluster", err);
    cluster = find_cluster(&list, c->id);
    if (cluster) {
        show_cluster(cluster, &capacity, c->options->showjson, c->out);
        return true;
    }
    err_set(err, ERR_NOT_FOUND, "not found on the controller");
    return fail(c, "cluster", err);
}
