#include "vipu/tools/devices/gcd_view.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "base/core/visible.h"
#include "base/doc/json.h"

void gcd_view_release(struct gcd_view *view)
{
    if (!view)
        return;
    for (uint32_t i = 0; i < view->ipu_count; i++) {
        struct vipu_ipuof_device *device = &view->ipus[i].device;

        mem_free(device->ip);
        mem_free(device->chip_id);
        mem_free(device->gwsw_version);
        mem_free(device->ipum_sw_version);
    }
    mem_free(view->ipus);
    mem_free(view->partition);
    mem_free(view->sync_type);
    mem_free(view->server_version);
    mem_free(view->trouble);
    *view = (struct gcd_view){0};
}

/* Logical order: single device n is the n-th of it. */
static int compare_ipus(const void *a, const void *b)
{
    const struct vipu_ipuof_device *left = &((const struct ipu_view *)a)->device;
    const struct vipu_ipuof_device *right = &((const struct ipu_view *)b)->device;

    if (left->ipulink_segment_id != right->ipulink_segment_id)
        return left->ipulink_segment_id < right->ipulink_segment_id ? -1 : 1;
    return (left->routing_id > right->routing_id) - (left->routing_id < right->routing_id);
}

static void sort_ipus(struct gcd_view *view)
{
    if (view->ipu_count)
        qsort(view->ipus, view->ipu_count, sizeof(*view->ipus), compare_ipus);
}

/* The value of a key in a file as text: printed, it must stay on its line. */
static char *text_of(const cJSON *object, const char *key)
{
    return visible_new(json_str(object, key, ""), VISIBLE_LINE);
}

static bool number_of(const cJSON *object, const char *key, uint32_t *ret, struct err *err)
{
    const cJSON *node = json_at(object, key);
    int64_t value = json_i64(object, key, -1);

    *ret = 0;
    if (!node || cJSON_IsNull(node))
        return true;
    if (cJSON_IsString(node)) {
        if (parse_u32(node->valuestring, 0, UINT32_MAX, ret))
            return true;
    } else if (value >= 0 && value <= UINT32_MAX) {
        *ret = (uint32_t)value;
        return true;
    }
    return err_set(err, ERR_INVALID, "\"%s\" is not a number from 0 to %u", key, UINT32_MAX);
}

static bool read_device(const cJSON *node, struct vipu_ipuof_device *ret, struct err *err)
{
    struct vipu_ipuof_device device = {0};
    const struct {
        const char *key;
        uint32_t *place;
    } numbers[] = {
        {"server_port", &device.server_port}, {"rdma_port", &device.rdma_port},
        {"device_id", &device.device_id},     {"ipulink_segment_id", &device.ipulink_segment_id},
        {"routing_id", &device.routing_id},   {"ipu_arch_id", &device.ipu_arch_id},
        {"ipu_id", &device.ipu_id},
    };

    if (!cJSON_IsObject(node))
        return err_set(err, ERR_INVALID, "it is not an object");
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (!number_of(node, numbers[i].key, numbers[i].place, err))
            return false;
    device.ip = text_of(node, "ip");
    device.chip_id = text_of(node, "chip_id");
    device.gwsw_version = text_of(node, "gwsw_version");
    device.ipum_sw_version = text_of(node, "ipum_sw_version");
    *ret = device;
    return true;
}

static bool read_devices(const cJSON *array, struct gcd_view *view, struct err *err)
{
    JSON_EACH (node, array) {
        if (view->ipu_count == GCD_VIEW_MAX_IPUS)
            return err_set(err, ERR_INVALID, "it has more than %u devices", GCD_VIEW_MAX_IPUS);
        view->ipus = mem_grow(view->ipus, view->ipu_count + 1, sizeof(*view->ipus));
        view->ipus[view->ipu_count] = (struct ipu_view){0};
        if (!read_device(node, &view->ipus[view->ipu_count].device, err))
            return err_wrap(err, "device %u", view->ipu_count);
        view->ipu_count++;
    }
    return view->ipu_count > 0 || err_set(err, ERR_INVALID, "it has no devices");
}

/* A literal key: keys contain spaces and may contain slashes, so this is not a path. */
static const char *attribute_of(const cJSON *attributes, const char *key)
{
    JSON_EACH (node, attributes) {
        if (json_key(node) && str_eq(json_key(node), key) && cJSON_IsString(node))
            return node->valuestring;
    }
    return NULL;
}

static bool read_attributes(const cJSON *attributes, struct gcd_view *view, struct err *err)
{
    const char *gcd = attribute_of(attributes, "GCD Id");
    const char *partition = attribute_of(attributes, "Partition Id");
    const char *routing = attribute_of(attributes, "Routing Type");
    const char *replicas = attribute_of(attributes, "Number Of Replicas");
    const char *sync = attribute_of(attributes, "Partition Sync Type");
    const char *reconfigurable = attribute_of(attributes, "Fabric Reconfigurable");

    if (gcd && !parse_u32(gcd, 0, GCD_VIEW_MAX_IPUS, &view->gcd))
        return err_set(err, ERR_INVALID, "its attribute \"GCD Id\" is not a number from 0 to %u",
                       GCD_VIEW_MAX_IPUS);
    if (partition && *partition) {
        mem_free(view->partition);
        view->partition = visible_new(partition, VISIBLE_LINE);
    }
    if (routing)
        (void)vipu_routing_parse(routing, &view->routing);
    if (replicas)
        (void)parse_u32(replicas, 0, GCD_VIEW_MAX_IPUS, &view->num_replicas);
    if (sync)
        view->sync_type = visible_new(sync, VISIBLE_LINE);
    view->reconfigurable = reconfigurable && (str_eq(reconfigurable, "true") || str_eq(reconfigurable, "1"));
    return true;
}

bool gcd_view_from_file(struct slice text, const char *name, struct gcd_view *ret, struct err *err)
{
    AUTO(json) cJSON *document = json_parse(text, err);
    AUTO(gcd_view) struct gcd_view view = {.partition = visible_new(name, VISIBLE_LINE)};
    const cJSON *devices = cJSON_IsArray(document) ? document : json_at(document, "devices");

    if (!document)
        return false;
    if (!cJSON_IsArray(devices))
        return err_set(err, ERR_INVALID, "not an IPUoF configuration: no array \"devices\"");
    if (!read_attributes(json_at(document, "attributes"), &view, err) || !read_devices(devices, &view, err))
        return false;
    sort_ipus(&view);
    *ret = view;
    view = (struct gcd_view){0};
    return true;
}

struct gcd_view gcd_view_from_config(const char *partition, struct vipu_ipuof_config *config, size_t index)
{
    struct vipu_ipuof_gcd *gcd = &config->gcds[index];
    const char *id = vipu_ipuof_attribute(gcd, "GCD Id");
    const char *replicas = vipu_ipuof_attribute(gcd, "Number Of Replicas");
    struct gcd_view view = {
        .partition = mem_strdup(partition),
        .reconfigurable = config->reconfigurable,
        .routing = config->routing,
        .server_version = mem_strdup(config->ipuof_server_version),
        .ipus = mem_alloc((gcd->device_count + 1) * sizeof(*view.ipus)),
        .ipu_count = (uint32_t)gcd->device_count,
    };

    if (config->sync_type != VIPU_SYNC_UNDEFINED)
        view.sync_type = mem_strdup(vipu_sync_type_name(config->sync_type));
    if (!id || !parse_u32(id, 0, GCD_VIEW_MAX_IPUS, &view.gcd))
        view.gcd = (uint32_t)index;
    if (replicas)
        (void)parse_u32(replicas, 0, GCD_VIEW_MAX_IPUS, &view.num_replicas);
    for (uint32_t i = 0; i < view.ipu_count; i++)
        view.ipus[i].device = gcd->devices[i];
    gcd->device_count = 0;
    sort_ipus(&view);
    return view;
}

void gcd_view_add_partition(struct gcd_view *view, const struct vipu_partition *partition)
{
    view->num_replicas = partition->num_replicas;
    if (view->routing == VIPU_ROUTING_UNDEFINED)
        view->routing = partition->routing;
    if (!view->server_version || !*view->server_version)
        mem_set_str(&view->server_version, partition->ipuof_server_version);
    if (!view->sync_type && partition->sync_type != VIPU_SYNC_UNDEFINED)
        view->sync_type = mem_strdup(vipu_sync_type_name(partition->sync_type));
}

void gcd_view_add_attributes(struct gcd_view *view, const struct ipu_index *index)
{
    for (uint32_t i = 0; i < view->ipu_count; i++)
        view->ipus[i].attributes = ipu_index_find(index, &view->ipus[i].device);
}

const char *gcd_view_routing(const struct gcd_view *view)
{
    return vipu_routing_name(view->routing == VIPU_ROUTING_UNDEFINED ? VIPU_ROUTING_DNC : view->routing);
}

const char *ipu_view_attribute(const struct ipu_view *ipu, const char *key)
{
    return ipu->attributes ? agent_ipu_attribute(ipu->attributes, key) : NULL;
}
