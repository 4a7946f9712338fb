#include "vipu/cli/output/show_inventory.h"

#include "base/core/mem.h"
#include "base/doc/json.h"
#include "vipu/cli/output/show.h"
#include "vipu/cli/output/table.h"

static void add_agents(const struct strv *agents, struct str *text)
{
    for (size_t i = 0; i < agents->count; i++)
        str_addf(text, "%s%s", text->len ? " " : "", agents->items[i]);
}

static void put_agents(cJSON *object, const char *key, const struct strv *agents)
{
    cJSON *array = json_put_array(object, key);

    for (size_t i = 0; i < agents->count; i++)
        json_push_str(array, agents->items[i]);
}

static cJSON *allocation_json(const struct vipu_allocation_entry *allocation)
{
    cJSON *object = json_object(), *spec;

    json_put_str(object, "id", allocation->id);
    spec = json_put_object(object, "spec");
    json_put_str(spec, "cluster_id", allocation->cluster_id);
    put_agents(spec, "agent_ids", &allocation->agents);
    return object;
}

void show_allocations(const struct vipu_allocation_list *list, bool json, struct str *out)
{
    static const char *const heading[] = {"Allocation ID", "Agents", NULL};
    AUTO(table) struct table table = {0};
    cJSON *array;

    table_init(&table, heading);
    if (json) {
        array = json_array();
        for (size_t i = 0; i < list->count; i++)
            json_push_take(array, allocation_json(&list->items[i]));
        show_document_take(array, out);
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        AUTO(str) struct str agents = {0};

        add_agents(&list->items[i].agents, &agents);
        table_add(&table, list->items[i].id);
        table_add(&table, str_text(&agents));
    }
    table_print(&table, out);
}

/* The oldest client's JSON has an array of IPUs for each domain, and callers count them. */
static void put_domain(cJSON *list, const struct vipu_domain_entry *domain)
{
    cJSON *object = json_push_take(list, json_object());
    cJSON *ipus = json_put_array(object, "ipus");

    for (uint32_t i = 0; i < domain->ipu_count; i++) {
        cJSON *ipu = json_push_take(ipus, json_object());

        if (domain->agents.count)
            json_put_str(ipu, "agent_id", domain->agents.items[i * domain->agents.count / domain->ipu_count]);
    }
    put_agents(object, "agent_ids", &domain->agents);
}

static cJSON *cluster_json(const struct vipu_cluster_entry *cluster)
{
    cJSON *object = json_object(), *spec, *domains;

    json_put_str(object, "id", cluster->id);
    spec = json_put_object(object, "spec");
    json_put_str(spec, "topology", cluster->topology);
    json_put_str(spec, "cluster_topology", cluster->cluster_topology);
    domains = json_put_array(spec, "ipu_link_domains");
    for (size_t d = 0; d < cluster->domain_count; d++)
        put_domain(domains, &cluster->domains[d]);
    return object;
}

static uint32_t ipus_of(const struct vipu_cluster_entry *cluster)
{
    uint32_t count = 0;

    for (size_t d = 0; d < cluster->domain_count; d++)
        count += cluster->domains[d].ipu_count;
    return count;
}

static void add_cluster_agents(const struct vipu_cluster_entry *cluster, struct str *text)
{
    for (size_t d = 0; d < cluster->domain_count; d++)
        add_agents(&cluster->domains[d].agents, text);
}

static void add_cluster(struct table *table, const struct vipu_cluster_entry *cluster)
{
    AUTO(str) struct str agents = {0};

    add_cluster_agents(cluster, &agents);
    table_add(table, cluster->id);
    table_addf(table, "%zu", cluster->domain_count);
    table_add(table, cluster->topology);
    table_add(table, cluster->cluster_topology);
    table_addf(table, "%u", ipus_of(cluster));
    table_add(table, str_text(&agents));
}

void show_clusters(const struct vipu_cluster_list *list, bool json, struct str *out)
{
    static const char *const heading[] = {"Cluster", "ILDs",   "Topology", "Cluster Topology",
                                          "IPUs",    "Agents", NULL};
    AUTO(table) struct table table = {0};
    cJSON *array;

    table_init(&table, heading);
    if (json) {
        array = json_array();
        for (size_t i = 0; i < list->count; i++)
            json_push_take(array, cluster_json(&list->items[i]));
        show_document_take(array, out);
        return;
    }
    for (size_t i = 0; i < list->count; i++)
        add_cluster(&table, &list->items[i]);
    table_print(&table, out);
}

static cJSON *capacity_json(const struct vipu_capacity *capacity)
{
    cJSON *object = json_object(), *fits;

    json_put_i64(object, "total_ipus", capacity->total_ipus);
    json_put_i64(object, "free_ipus", capacity->free_ipus);
    fits = json_put_array(object, "fits");
    for (size_t i = 0; i < capacity->fit_count; i++) {
        cJSON *fit = json_push_take(fits, json_object());

        json_put_i64(fit, "size", capacity->fits[i].size);
        json_put_i64(fit, "count", capacity->fits[i].count);
    }
    return object;
}

static void capacity_rows(struct table *table, const struct vipu_capacity *capacity)
{
    table_add_number(table, "IPUs", capacity->total_ipus);
    table_add_number(table, "Free IPUs", capacity->free_ipus);
    for (size_t i = 0; i < capacity->fit_count; i++) {
        table_addf(table, "Available (size %u)", capacity->fits[i].size);
        table_addf(table, "%u", capacity->fits[i].count);
    }
}

static void show_json_take(const char *key, cJSON *noun, const struct vipu_capacity *capacity,
                           struct str *out)
{
    cJSON *object = json_object();

    json_put_take(object, key, noun);
    json_put_take(object, "capacity", capacity_json(capacity));
    show_document_take(object, out);
}

static const char *const attributes[] = {"Attribute", "Value", NULL};

void show_allocation(const struct vipu_allocation_entry *allocation, const struct vipu_capacity *capacity,
                     bool json, struct str *out)
{
    AUTO(table) struct table table = {0};
    AUTO(str) struct str agents = {0};

    if (json) {
        show_json_take("allocation", allocation_json(allocation), capacity, out);
        return;
    }
    add_agents(&allocation->agents, &agents);
    table_init(&table, attributes);
    table_add_pair(&table, "Allocation ID", allocation->id);
    table_add_pair(&table, "Cluster", allocation->cluster_id);
    table_add_pair(&table, "Agents", str_text(&agents));
    capacity_rows(&table, capacity);
    table_print(&table, out);
}

void show_cluster(const struct vipu_cluster_entry *cluster, const struct vipu_capacity *capacity, bool json,
                  struct str *out)
{
    AUTO(table) struct table table = {0};
    AUTO(str) struct str agents = {0};

    if (json) {
        show_json_take("cluster", cluster_json(cluster), capacity, out);
        return;
    }
    add_cluster_agents(cluster, &agents);
    table_init(&table, attributes);
    table_add_pair(&table, "Cluster", cluster->id);
    table_add_number(&table, "ILDs", cluster->domain_count);
    table_add_pair(&table, "Topology", cluster->topology);
    table_add_pair(&table, "Cluster Topology", cluster->cluster_topology);
    table_add_pair(&table, "Agents", str_text(&agents));
    capacity_rows(&table, capacity);
    table_print(&table, out);
}
