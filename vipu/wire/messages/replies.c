#include "vipu/wire/messages/replies.h"

#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "vipu/wire/messages/fields.h"
#include "vipu/wire/messages/proto.h"

#define LIST_FIELD 1u /* ListIPUAttributesReply.entries */
#define IPUS_FIELD 2u /* AgentEntry.ipu_attributes */

bool wire_put_version(const char *version, struct str *out)
{
    Virmgrpc__VersionReply reply = VIRMGRPC__VERSION_REPLY__INIT;

    reply.version = proto_text(version);
    return proto_pack(&reply, out);
}

bool wire_put_partition_id(const char *id, struct str *out)
{
    Virmgrpc__CreatePartitionReply reply = VIRMGRPC__CREATE_PARTITION_REPLY__INIT;

    reply.partition_id = proto_text(id);
    return proto_pack(&reply, out);
}

bool wire_put_status(const struct vipu_status *status, struct str *out)
{
    Virmgrpc__GetPartitionStatusReply reply = VIRMGRPC__GET_PARTITION_STATUS_REPLY__INIT;
    Virmgrpc__PartitionStatus wire = VIRMGRPC__PARTITION_STATUS__INIT;
    Virmgrpc__Timestamp last = VIRMGRPC__TIMESTAMP__INIT;

    last.seconds = status->last_auto_reset_unix_s;
    wire.partition_id = proto_text(status->partition_id);
    wire.ready_state = (Virmgrpc__PartitionReadyState)status->ready_state;
    wire.operation_state = (Virmgrpc__PartitionOperationState)status->operation_state;
    wire.n_errors = status->error_count;
    wire.errors = status->errors;
    wire.max_auto_reset_retries = status->max_auto_reset_retries;
    wire.auto_reset_retry_count = status->auto_reset_retry_count;
    wire.last_auto_reset_time = status->last_auto_reset_unix_s ? &last : NULL;
    reply.status = &wire;
    return proto_pack(&reply, out);
}

/* Strings of a message under construction: a NULL list means that the budget is exhausted, which SIZE_MAX
 * never is. */
static Virmgrpc__TextEntry **text_entries(const struct vipu_attribute *from, size_t count,
                                          struct arena *arena)
{
    Virmgrpc__TextEntry **list = arena_alloc(arena, (count + 1) * sizeof(*list));

    for (size_t i = 0; i < count; i++) {
        list[i] = arena_alloc(arena, sizeof(*list[i]));
        virmgrpc__text_entry__init(list[i]);
        list[i]->key = proto_text(from[i].key);
        list[i]->value = proto_text(from[i].value);
    }
    return list;
}

static Virmgrpc__IpuEntry *ipu_entry(const struct vipu_agent_ipu *ipu, struct arena *arena)
{
    Virmgrpc__IpuEntry *entry = arena_alloc(arena, sizeof(*entry));
    Virmgrpc__IpuAttributes *value = arena_alloc(arena, sizeof(*value));

    virmgrpc__ipu_entry__init(entry);
    virmgrpc__ipu_attributes__init(value);
    value->n_attributes = ipu->attribute_count;
    value->attributes = text_entries(ipu->attributes, ipu->attribute_count, arena);
    entry->key = ipu->id;
    entry->value = value;
    return entry;
}

bool wire_put_agent(const struct vipu_agent *agent, struct str *out)
{
    AUTO(arena) struct arena arena = {.budget = SIZE_MAX};
    Virmgrpc__ListIPUAttributesReply reply = VIRMGRPC__LIST_IPUATTRIBUTES_REPLY__INIT;
    Virmgrpc__AgentEntry entry = VIRMGRPC__AGENT_ENTRY__INIT, *only = &entry;

    entry.agent = proto_text(agent->name);
    entry.n_ipu_attributes = agent->ipu_count;
    entry.ipu_attributes = arena_alloc(&arena, (agent->ipu_count + 1) * sizeof(*entry.ipu_attributes));
    for (size_t i = 0; i < agent->ipu_count; i++)
        entry.ipu_attributes[i] = ipu_entry(&agent->ipus[i], &arena);
    reply.n_entries = 1;
    reply.entries = &only;
    return proto_pack(&reply, out);
}

static Virmgrpc__IpuofDevice *ipuof_device(const struct vipu_ipuof_device *from, struct arena *arena)
{
    Virmgrpc__IpuofDevice *device = arena_alloc(arena, sizeof(*device));

    virmgrpc__ipuof_device__init(device);
    device->ip = proto_text(from->ip);
    device->server_port = from->server_port;
    device->rdma_port = from->rdma_port;
    device->device_id = from->device_id;
    device->ipulink_segment_id = from->ipulink_segment_id;
    device->routing_id = from->routing_id;
    device->ipu_arch_id = from->ipu_arch_id;
    device->ipu_id = from->ipu_id;
    device->chip_id = proto_text(from->chip_id);
    device->gwsw_version = proto_text(from->gwsw_version);
    device->ipum_sw_version = proto_text(from->ipum_sw_version);
    return device;
}

static Virmgrpc__Gcd *ipuof_gcd(const struct vipu_ipuof_gcd *from, struct arena *arena)
{
    Virmgrpc__Gcd *gcd = arena_alloc(arena, sizeof(*gcd));

    virmgrpc__gcd__init(gcd);
    gcd->n_devices = from->device_count;
    gcd->devices = arena_alloc(arena, (from->device_count + 1) * sizeof(*gcd->devices));
    for (size_t i = 0; i < from->device_count; i++)
        gcd->devices[i] = ipuof_device(&from->devices[i], arena);
    gcd->n_attributes = from->attribute_count;
    gcd->attributes = text_entries(from->attributes, from->attribute_count, arena);
    return gcd;
}

bool wire_put_ipuof(const struct vipu_ipuof_config *config, struct str *out)
{
    AUTO(arena) struct arena arena = {.budget = SIZE_MAX};
    Virmgrpc__GetPartitionIpuofConfigReply reply = VIRMGRPC__GET_PARTITION_IPUOF_CONFIG_REPLY__INIT;
    Virmgrpc__PartitionConfig wire = VIRMGRPC__PARTITION_CONFIG__INIT;

    wire.ipulink_routing_type = (Virmgrpc__IpulinkRoutingType)config->routing;
    wire.sync_type = (Virmgrpc__SyncType)config->sync_type;
    wire.reconfigurable = config->reconfigurable;
    wire.gw_routing_type = (Virmgrpc__GatewayRoutingType)config->gateway_routing;
    wire.num_ipulink_segments = config->num_ilds;
    wire.ipuof_server_version = proto_text(config->ipuof_server_version);
    wire.n_gcd_configs = config->gcd_count;
    wire.gcd_configs = arena_alloc(&arena, (config->gcd_count + 1) * sizeof(*wire.gcd_configs));
    for (size_t i = 0; i < config->gcd_count; i++)
        wire.gcd_configs[i] = ipuof_gcd(&config->gcds[i], &arena);
    reply.ipuof_config = &wire;
    return proto_pack(&reply, out);
}

/* A reply that cannot be decoded is the peer's failure, not the caller's. */
static void *unpack(const ProtobufCMessageDescriptor *type, struct slice bytes, struct arena *arena,
                    struct err *err)
{
    void *message = proto_unpack(type, bytes, arena, err);

    if (!message)
        err->kind = ERR_IO;
    return message;
}

static void *array(size_t count, size_t size)
{
    return count ? mem_alloc(count * size) : NULL;
}

bool wire_get_version(struct slice bytes, char **ret, struct err *err)
{
    AUTO(arena) struct arena arena = {.budget = WIRE_REPLY_BUDGET};
    Virmgrpc__VersionReply *reply = unpack(&virmgrpc__version_reply__descriptor, bytes, &arena, err);

    if (!reply)
        return false;
    *ret = proto_copy(reply->version);
    return true;
}

bool wire_get_partition_id(struct slice bytes, char **ret, struct err *err)
{
    AUTO(arena) struct arena arena = {.budget = WIRE_REPLY_BUDGET};
    Virmgrpc__CreatePartitionReply *reply =
        unpack(&virmgrpc__create_partition_reply__descriptor, bytes, &arena, err);

    if (!reply)
        return false;
    *ret = proto_copy(reply->partition_id);
    return true;
}

bool wire_get_empty(struct slice bytes, struct err *err)
{
    AUTO(arena) struct arena arena = {.budget = WIRE_REPLY_BUDGET};

    return unpack(&virmgrpc__remove_partition_reply__descriptor, bytes, &arena, err) != NULL;
}

bool wire_get_status(struct slice bytes, struct vipu_status *ret, struct err *err)
{
    AUTO(arena) struct arena arena = {.budget = WIRE_REPLY_BUDGET};
    Virmgrpc__GetPartitionStatusReply *reply =
        unpack(&virmgrpc__get_partition_status_reply__descriptor, bytes, &arena, err);
    const Virmgrpc__PartitionStatus *wire;

    if (!reply)
        return false;
    wire = reply->status;
    if (!wire)
        return err_set(err, ERR_IO, "the reply contains no status");
    *ret = (struct vipu_status){
        .partition_id = proto_copy(wire->partition_id),
        .ready_state = (enum vipu_ready_state)wire->ready_state,
        .operation_state = (enum vipu_operation_state)wire->operation_state,
        .errors = array(wire->n_errors, sizeof(char *)),
        .error_count = wire->n_errors,
        .max_auto_reset_retries = wire->max_auto_reset_retries,
        .auto_reset_retry_count = wire->auto_reset_retry_count,
        .last_auto_reset_unix_s = wire->last_auto_reset_time ? wire->last_auto_reset_time->seconds : 0,
    };
    for (size_t i = 0; i < wire->n_errors; i++)
        ret->errors[i] = proto_copy(wire->errors[i]);
    return true;
}

static struct vipu_attribute *take_attributes(Virmgrpc__TextEntry **from, size_t count)
{
    struct vipu_attribute *attributes = array(count, sizeof(*attributes));

    for (size_t i = 0; i < count; i++)
        attributes[i] = (struct vipu_attribute){proto_copy(from[i]->key), proto_copy(from[i]->value)};
    return attributes;
}

static struct vipu_agent_ipu take_ipu(const Virmgrpc__IpuEntry *wire)
{
    struct vipu_agent_ipu ipu = {.id = wire->key};

    if (wire->value) {
        ipu.attribute_count = wire->value->n_attributes;
        ipu.attributes = take_attributes(wire->value->attributes, ipu.attribute_count);
    }
    return ipu;
}

static struct vipu_agent take_agent(const Virmgrpc__AgentEntry *wire)
{
    struct vipu_agent agent = {
        .name = proto_copy(wire->agent),
        .ipu_count = wire->n_ipu_attributes,
        .ipus = array(wire->n_ipu_attributes, sizeof(*agent.ipus)),
    };

    for (size_t i = 0; i < agent.ipu_count; i++)
        agent.ipus[i] = take_ipu(wire->ipu_attributes[i]);
    return agent;
}

static size_t cost_of(const struct vipu_agent *agent)
{
    size_t cost = strlen(agent->name) + agent->ipu_count * sizeof(*agent->ipus);

    for (size_t i = 0; i < agent->ipu_count; i++) {
        const struct vipu_agent_ipu *ipu = &agent->ipus[i];

        for (size_t a = 0; a < ipu->attribute_count; a++)
            cost += sizeof(*ipu->attributes) + strlen(ipu->attributes[a].key) +
                    strlen(ipu->attributes[a].value) + 2 * ARENA_PIECE_OVERHEAD;
    }
    return cost;
}

/* One after the other, as in partitions.c. */
static bool fill_agents(struct slice bytes, struct arena *arena, struct vipu_agents *agents)
{
    struct slice element;
    struct err err;

    while (field_next_of(&bytes, LIST_FIELD, &element)) {
        const Virmgrpc__AgentEntry *wire =
            proto_unpack(&virmgrpc__agent_entry__descriptor, element, arena, &err);
        size_t cost;

        if (!wire)
            return false;
        agents->items[agents->count] = take_agent(wire);
        cost = cost_of(&agents->items[agents->count++]);
        arena_clear(arena);
        if (!arena_charge(arena, cost))
            return false;
    }
    return true;
}

bool wire_get_agents(struct slice bytes, size_t budget, struct vipu_agents *ret, struct err *err)
{
    AUTO(arena) struct arena arena = {.budget = budget};
    AUTO(vipu_agents) struct vipu_agents agents = {0};
    size_t count;

    if (field_count_of(bytes, LIST_FIELD, &count) && count <= budget / sizeof(*agents.items)) {
        (void)arena_charge(&arena, count * sizeof(*agents.items));
        agents.items = array(count, sizeof(*agents.items));
        if (fill_agents(bytes, &arena, &agents)) {
            vipu_agents_sort(&agents);
            *ret = agents;
            agents = (struct vipu_agents){0};
            return true;
        }
    }
    return err_set(err, ERR_IO, "cannot decode the list of IPUs (%zu bytes)", bytes.len);
}

bool wire_count_ipus(struct slice bytes, uint32_t *ret, struct err *err)
{
    struct slice rest = bytes, agent;
    bool is_list = true;
    size_t total = 0;

    while (is_list && field_next_of(&rest, LIST_FIELD, &agent)) {
        size_t ipus;

        is_list = field_count_of(agent, IPUS_FIELD, &ipus);
        total += ipus;
    }
    if (!is_list || rest.len || total > UINT32_MAX)
        return err_set(err, ERR_IO, "cannot decode the list of IPUs (%zu bytes)", bytes.len);
    *ret = (uint32_t)total;
    return true;
}

static struct vipu_ipuof_device take_device(const Virmgrpc__IpuofDevice *wire)
{
    return (struct vipu_ipuof_device){
        .ip = proto_copy(wire->ip),
        .server_port = wire->server_port,
        .rdma_port = wire->rdma_port,
        .device_id = wire->device_id,
        .ipulink_segment_id = wire->ipulink_segment_id,
        .routing_id = wire->routing_id,
        .ipu_arch_id = wire->ipu_arch_id,
        .ipu_id = wire->ipu_id,
        .chip_id = proto_copy(wire->chip_id),
        .gwsw_version = proto_copy(wire->gwsw_version),
        .ipum_sw_version = proto_copy(wire->ipum_sw_version),
    };
}

static struct vipu_ipuof_gcd take_gcd(const Virmgrpc__Gcd *wire)
{
    struct vipu_ipuof_gcd gcd = {
        .devices = array(wire->n_devices, sizeof(*gcd.devices)),
        .device_count = wire->n_devices,
        .attributes = take_attributes(wire->attributes, wire->n_attributes),
        .attribute_count = wire->n_attributes,
    };

    for (size_t i = 0; i < gcd.device_count; i++)
        gcd.devices[i] = take_device(wire->devices[i]);
    return gcd;
}

bool wire_get_ipuof(struct slice bytes, struct vipu_ipuof_config *ret, struct err *err)
{
    AUTO(arena) struct arena arena = {.budget = WIRE_REPLY_BUDGET};
    Virmgrpc__GetPartitionIpuofConfigReply *reply =
        unpack(&virmgrpc__get_partition_ipuof_config_reply__descriptor, bytes, &arena, err);
    const Virmgrpc__PartitionConfig *wire;

    if (!reply)
        return false;
    wire = reply->ipuof_config;
    if (!wire)
        return err_set(err, ERR_IO, "the reply contains no configuration");
    *ret = (struct vipu_ipuof_config){
        .routing = (enum vipu_routing)wire->ipulink_routing_type,
        .gateway_routing = (enum vipu_gateway_routing)wire->gw_routing_type,
        .sync_type = (enum vipu_sync_type)wire->sync_type,
        .reconfigurable = wire->reconfigurable,
        .num_ilds = wire->num_ipulink_segments,
        .ipuof_server_version = proto_copy(wire->ipuof_server_version),
        .gcds = array(wire->n_gcd_configs, sizeof(*ret->gcds)),
        .gcd_count = wire->n_gcd_configs,
    };
    for (size_t i = 0; i < ret->gcd_count; i++)
        ret->gcds[i] = take_gcd(wire->gcd_configs[i]);
    return true;
}
