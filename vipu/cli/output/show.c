#include "vipu/cli/output/show.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "base/core/visible.h"
#include "base/doc/json.h"
#include "vipu/cli/output/table.h"

/* The JSON keeps the API's field names and enumeration texts. */
static void put_enum(cJSON *object, const char *key, const char *prefix, const char *name)
{
    json_put_strf(object, key, "%s_%s", prefix, name);
}

static const char *sync_text(enum vipu_sync_type type)
{
    switch (type) {
    case VIPU_SYNC_GS2_DEFAULT:
        return "GS2_DEFAULT";
    case VIPU_SYNC_GS2_INDEPENDENT_RAILS:
        return "GS2_INDEPENDENT_RAILS";
    case VIPU_SYNC_POD_NATIVE_DEFAULT:
        return "POD_NATIVE_DEFAULT";
    case VIPU_SYNC_POD_NATIVE_REPLICATED_PIPELINE:
        return "POD_NATIVE_REPLICATED_PIPELINE";
    case VIPU_SYNC_UNDEFINED:
        break;
    }
    return "UNDEFINED";
}

static void put_ipu(cJSON *list, const struct vipu_ipu *ipu)
{
    cJSON *object = json_push_take(list, json_object());

    json_put_i64(object, "ipulink_domain_topology_id", ipu->domain_topology_id);
    json_put_i64(object, "ipulink_domain_routing_id", ipu->domain_routing_id);
    json_put_i64(object, "topology_id", ipu->topology_id);
    json_put_i64(object, "routing_id", ipu->routing_id);
}

static cJSON *partition_json(const struct vipu_partition *p)
{
    cJSON *object = json_object(), *spec, *ipus;

    json_put_str(object, "id", p->id);
    spec = json_put_object(object, "spec");
    json_put_str(spec, "cluster_id", p->cluster_id);
    json_put_str(spec, "allocation_id", p->allocation_id);
    ipus = json_put_array(spec, "ipus");
    for (uint32_t i = 0; i < p->size; i++)
        put_ipu(ipus, &p->ipus[i]);
    put_enum(spec, "ipulink_routing_type", "IRT", vipu_routing_name(p->routing));
    put_enum(spec, "gw_routing_type", "GRT",
             p->gateway_routing ? vipu_gateway_routing_name(p->gateway_routing) : "UNDEFINED");
    put_enum(spec, "sync_type", "ST", sync_text(p->sync_type));
    json_put_i64(spec, "num_gcds", p->num_gcds);
    json_put_i64(spec, "num_replicas", p->num_replicas);
    json_put_i64(spec, "num_ipulink_segments", p->num_ilds);
    json_put_bool(spec, "reconfigurable", p->reconfigurable);
    put_enum(object, "ready_state", "PS", vipu_ready_state_name(p->ready_state));
    json_put_str(object, "ipuof_server_version", p->ipuof_server_version);
    return object;
}

void show_document_take(cJSON *document, struct str *out)
{
    AUTO(mem) char *text = NULL;

    json_make_visible(document, VISIBLE_LINES);
    text = json_print_pretty(document);
    str_addf(out, "%s\n", text);
    cJSON_Delete(document);
}

/* One after the other: a tree of all of them takes seven times the memory of their text. */
void show_partitions_json(const struct vipu_partitions *list, struct str *out)
{
    str_addc(out, '[');
    for (size_t i = 0; i < list->count; i++) {
        AUTO(json) cJSON *entry = json_object();
        AUTO(mem) char *text = NULL;

        json_put_take(entry, "partition", partition_json(&list->items[i]));
        json_make_visible(entry, VISIBLE_LINES);
        text = json_print_pretty(entry);
        str_addf(out, "%s%s", i ? ", " : "", text);
    }
    str_adds(out, "]\n");
}

static void add_row(struct table *table, const struct vipu_partition *p, enum show_layout layout)
{
    if (layout == SHOW_BY_PARTITION)
        table_add(table, p->id);
    table_add(table, p->cluster_id);
    if (layout == SHOW_BY_ALLOCATION)
        table_add(table, p->allocation_id);
    if (layout != SHOW_BY_PARTITION)
        table_add(table, p->id);
    table_addf(table, "%u", p->num_ilds);
    table_add(table, vipu_gateway_routing_name(p->gateway_routing));
    table_add(table, vipu_routing_name(p->routing));
    table_addf(table, "%u", p->size);
    table_addf(table, "%u", p->num_gcds);
    table_add(table, vipu_ready_state_name(p->ready_state));
}

#define COLUMNS_OF_ALL "ILDs", "GW Routing", "ILD Routing", "Size", "GCDs", "State", NULL

void show_partitions(const struct vipu_partitions *list, enum show_layout layout, struct str *out)
{
    static const char *const headings[][10] = {
        [SHOW_BY_ALLOCATION] = {"Cluster", "Allocation", "Partition", COLUMNS_OF_ALL},
        [SHOW_BY_CLUSTER] = {"Cluster", "Partition", COLUMNS_OF_ALL},
        [SHOW_BY_PARTITION] = {"Partition", "Cluster", COLUMNS_OF_ALL},
    };
    AUTO(table) struct table table = {0};

    table_init(&table, headings[layout]);
    for (size_t i = 0; i < list->count; i++)
        add_row(&table, &list->items[i], layout);
    table_print(&table, out);
}

static void partition_rows(struct table *table, const struct vipu_partition *p)
{
    table_add_pair(table, "Partition ID", p->id);
    table_add_pair(table, "Cluster", p->cluster_id);
    table_add_pair(table, "Allocation", p->allocation_id);
    table_add_number(table, "Size", p->size);
    table_add_number(table, "ILDs", p->num_ilds);
    table_add_number(table, "GCDs", p->num_gcds);
    table_add_number(table, "Replicas", p->num_replicas);
    table_add_pair(table, "Reconfigurable", p->reconfigurable ? "true" : "false");
    table_add_pair(table, "Sync Type", vipu_sync_type_name(p->sync_type));
    table_add_pair(table, "GW Routing", vipu_gateway_routing_name(p->gateway_routing));
    table_add_pair(table, "ILD Routing", vipu_routing_name(p->routing));
    table_add_pair(table, "IPUoF server version", p->ipuof_server_version);
}

static void status_rows(struct table *table, const struct vipu_status *status)
{
    char when[TIMEFMT_RFC3339_SIZE];

    table_add_pair(table, "State", vipu_ready_state_name(status->ready_state));
    table_add_pair(table, "Operation", vipu_operation_state_name(status->operation_state));
    table_add(table, "Auto-reset retries");
    table_addf(table, "%u of %u", status->auto_reset_retry_count, status->max_auto_reset_retries);
    if (status->last_auto_reset_unix_s)
        table_add_pair(table, "Last auto-reset", timefmt_rfc3339(status->last_auto_reset_unix_s, when));
    for (size_t i = 0; i < status->error_count; i++)
        table_add_pair(table, "Error", status->errors[i]);
}

static cJSON *status_json(const struct vipu_status *status)
{
    cJSON *object = json_object(), *errors;

    put_enum(object, "ready_state", "PS", vipu_ready_state_name(status->ready_state));
    put_enum(object, "operation_state", "POS", vipu_operation_state_name(status->operation_state));
    errors = json_put_array(object, "errors");
    for (size_t i = 0; i < status->error_count; i++)
        json_push_str(errors, status->errors[i]);
    json_put_i64(object, "max_auto_reset_retries", status->max_auto_reset_retries);
    json_put_i64(object, "auto_reset_retry_count", status->auto_reset_retry_count);
    if (status->last_auto_reset_unix_s)
        json_put_time(object, "last_auto_reset_time", status->last_auto_reset_unix_s);
    return object;
}

void show_partition(const struct vipu_partition *p, const struct vipu_status *status, bool json,
                    struct str *out)
{
    static const char *const heading[] = {"Attribute", "Value", NULL};
    AUTO(table) struct table table = {0};
    cJSON *object;

    table_init(&table, heading);
    if (json) {
        object = json_object();
        json_put_take(object, "partition", partition_json(p));
        json_put_take(object, "status", status_json(status));
        show_document_take(object, out);
        return;
    }
    partition_rows(&table, p);
    status_rows(&table, status);
    table_print(&table, out);
}

static int by_key(const void *a, const void *b)
{
    return strcmp((*(const struct vipu_attribute *const *)a)->key,
                  (*(const struct vipu_attribute *const *)b)->key);
}

/* A protobuf map has no order; users and scripts expect one. */
static const struct vipu_attribute **sorted(const struct vipu_agent_ipu *ipu)
{
    const struct vipu_attribute **list = mem_alloc((ipu->attribute_count + 1) * sizeof(*list));

    for (size_t i = 0; i < ipu->attribute_count; i++)
        list[i] = &ipu->attributes[i];
    qsort(list, ipu->attribute_count, sizeof(*list), by_key);
    return list;
}

static void add_ipu(struct table *table, const char *agent, const struct vipu_agent_ipu *ipu)
{
    const struct vipu_attribute **list = sorted(ipu);

    for (size_t i = 0; i < ipu->attribute_count; i++) {
        table_add(table, i == 0 ? agent : "");
        if (i == 0)
            table_addf(table, "%u", ipu->id);
        else
            table_add(table, "");
        table_add(table, list[i]->key);
        table_add(table, list[i]->value);
    }
    mem_free(list);
}

static void agents_json(const struct vipu_agents *agents, struct str *out)
{
    cJSON *array = json_array();

    for (size_t a = 0; a < agents->count; a++) {
        cJSON *object = json_push_take(array, json_object()), *ipus;

        json_put_str(object, "agent", agents->items[a].name);
        ipus = json_put_object(object, "ipu_attributes");
        for (size_t i = 0; i < agents->items[a].ipu_count; i++) {
            const struct vipu_agent_ipu *ipu = &agents->items[a].ipus[i];
            AUTO(mem) char *id = mem_printf("%u", ipu->id);
            cJSON *attributes = json_put_object(json_put_object(ipus, id), "attributes");

            for (size_t k = 0; k < ipu->attribute_count; k++)
                json_put_str(attributes, ipu->attributes[k].key, ipu->attributes[k].value);
        }
    }
    show_document_take(array, out);
}

void show_agents(const struct vipu_agents *agents, bool json, struct str *out)
{
    static const char *const heading[] = {"Agent", "IPU", "Attribute", "Value", NULL};
    AUTO(table) struct table table = {0};

    table_init(&table, heading);
    if (json) {
        agents_json(agents, out);
        return;
    }
    for (size_t a = 0; a < agents->count; a++)
        for (size_t i = 0; i < agents->items[a].ipu_count; i++)
            add_ipu(&table, i == 0 ? agents->items[a].name : "", &agents->items[a].ipus[i]);
    table_print(&table, out);
}

static void put_device(cJSON *list, const struct vipu_ipuof_device *device)
{
    cJSON *object = json_push_take(list, json_object());

    json_put_str(object, "ip", device->ip);
    json_put_i64(object, "server_port", device->server_port);
    json_put_i64(object, "rdma_port", device->rdma_port);
    json_put_i64(object, "device_id", device->device_id);
    json_put_i64(object, "ipulink_segment_id", device->ipulink_segment_id);
    json_put_i64(object, "routing_id", device->routing_id);
    json_put_i64(object, "ipu_arch_id", device->ipu_arch_id);
    json_put_i64(object, "ipu_id", device->ipu_id);
    json_put_str(object, "chip_id", device->chip_id);
    json_put_str(object, "gwsw_version", device->gwsw_version);
    json_put_str(object, "ipum_sw_version", device->ipum_sw_version);
}

static cJSON *gcd_object(const struct vipu_ipuof_gcd *gcd)
{
    cJSON *object = json_object(), *attributes = json_put_object(object, "attributes"), *devices;

    for (size_t i = 0; i < gcd->attribute_count; i++)
        json_put_str(attributes, gcd->attributes[i].key, gcd->attributes[i].value);
    devices = json_put_array(object, "devices");
    for (size_t i = 0; i < gcd->device_count; i++)
        put_device(devices, &gcd->devices[i]);
    return object;
}

void show_ipuof_gcd(const struct vipu_ipuof_gcd *gcd, struct str *out)
{
    show_document_take(gcd_object(gcd), out);
}

void show_ipuof_json(const struct vipu_ipuof_config *config, struct str *out)
{
    cJSON *array = json_array();

    for (size_t i = 0; i < config->gcd_count; i++)
        json_push_take(array, gcd_object(&config->gcds[i]));
    show_document_take(array, out);
}

void show_errors_json(const struct strv *errors, struct str *out)
{
    cJSON *object = json_object(), *list = json_put_array(object, "errors");

    for (size_t i = 0; i < errors->count; i++)
        json_push_str(list, errors->items[i]);
    show_document_take(object, out);
}
