#include "vipu/wire/messages/requests.h"

#include "base/core/mem.h"
#include "vipu/wire/messages/proto.h"

void wire_put_list(const char *allocation_id, struct str *out)
{
    Virmgrpc__ListPartitionsRequest request = VIRMGRPC__LIST_PARTITIONS_REQUEST__INIT;

    request.allocation_id = proto_text(allocation_id);
    proto_pack(&request, out);
}

void wire_put_create(const struct vipu_requirements *r, struct str *out)
{
    AUTO(arena) struct arena arena = {.budget = SIZE_MAX};
    Virmgrpc__CreatePartitionRequest request = VIRMGRPC__CREATE_PARTITION_REQUEST__INIT;
    Virmgrpc__PartitionRequirements wire = VIRMGRPC__PARTITION_REQUIREMENTS__INIT;

    wire.id = proto_text(r->id);
    wire.size = r->size;
    wire.cluster_id = proto_text(r->cluster_id);
    wire.ipulink_routing_type = (Virmgrpc__IpulinkRoutingType)r->routing;
    wire.num_ipulink_segments = r->num_ilds;
    wire.gw_routing_type = (Virmgrpc__GatewayRoutingType)r->gateway_routing;
    wire.sync_type = (Virmgrpc__SyncType)r->sync_type;
    wire.num_gcds = r->num_gcds;
    wire.reconfigurable = r->reconfigurable;
    wire.num_replicas = r->num_replicas;
    wire.allocation_id = proto_text(r->allocation_id);
    wire.n_ipus = r->ipu_count;
    wire.ipus = proto_ipus(r->ipus, r->ipu_count, &arena);
    request.requirements = &wire;
    request.disable_auto_reset = r->disable_auto_reset;
    request.relocatable = r->relocatable;
    request.access_key = proto_text(r->access_key);
    proto_pack(&request, out);
}

void wire_put_remove(const char *id, bool force, struct str *out)
{
    Virmgrpc__RemovePartitionRequest request = VIRMGRPC__REMOVE_PARTITION_REQUEST__INIT;

    request.partition_id = proto_text(id);
    request.force = force;
    proto_pack(&request, out);
}

void wire_put_reset(const char *id, bool relocatable, const char *access_key, struct str *out)
{
    Virmgrpc__ResetPartitionRequest request = VIRMGRPC__RESET_PARTITION_REQUEST__INIT;

    request.partition_id = proto_text(id);
    request.relocatable = relocatable;
    request.access_key = proto_text(access_key);
    proto_pack(&request, out);
}

void wire_put_status_request(const char *id, struct str *out)
{
    Virmgrpc__GetPartitionStatusRequest request = VIRMGRPC__GET_PARTITION_STATUS_REQUEST__INIT;

    request.partition_id = proto_text(id);
    proto_pack(&request, out);
}

void wire_put_ipuof_request(const struct wire_ipuof_request *r, struct str *out)
{
    Virmgrpc__GetPartitionIpuofConfigRequest request = VIRMGRPC__GET_PARTITION_IPUOF_CONFIG_REQUEST__INIT;
    Virmgrpc__GcdID gcd = VIRMGRPC__GCD_ID__INIT;

    gcd.id = r->gcd;
    request.partition_id = proto_text(r->partition_id);
    request.gcd_id = r->has_gcd ? &gcd : NULL;
    proto_pack(&request, out);
}

bool wire_get_version_request(struct slice bytes, struct arena *arena, struct err *err)
{
    return proto_unpack_request(&virmgrpc__version_request__descriptor, bytes, arena, err) != NULL;
}

bool wire_get_list(struct slice bytes, struct arena *arena, const char **ret_allocation_id, struct err *err)
{
    Virmgrpc__ListPartitionsRequest *request =
        proto_unpack_request(&virmgrpc__list_partitions_request__descriptor, bytes, arena, err);

    if (!request)
        return false;
    *ret_allocation_id = proto_clean(request->allocation_id);
    return true;
}

bool wire_get_attributes_request(struct slice bytes, struct arena *arena, struct wire_names *ret,
                                 struct err *err)
{
    Virmgrpc__ListIPUAttributesRequest *request =
        proto_unpack_request(&virmgrpc__list_ipuattributes_request__descriptor, bytes, arena, err);

    if (!request)
        return false;
    for (size_t i = 0; i < request->n_agents; i++)
        proto_clean(request->agents[i]);
    *ret = (struct wire_names){request->agents, request->n_agents};
    return true;
}

static bool take_ipus(const Virmgrpc__PartitionRequirements *wire, struct arena *arena,
                      struct vipu_requirements *r, struct err *err)
{
    struct vipu_ipu *ipus = arena_alloc(arena, (wire->n_ipus + 1) * sizeof(*ipus));

    if (!ipus)
        return err_set(err, ERR_INVALID, "the list of %zu IPUs exceeds the memory limit", wire->n_ipus);
    for (size_t i = 0; i < wire->n_ipus; i++)
        ipus[i] = proto_ipu(wire->ipus[i]);
    r->ipus = ipus;
    r->ipu_count = wire->n_ipus;
    return true;
}

bool wire_get_create(struct slice bytes, struct arena *arena, struct vipu_requirements *ret, struct err *err)
{
    Virmgrpc__CreatePartitionRequest *request =
        proto_unpack_request(&virmgrpc__create_partition_request__descriptor, bytes, arena, err);
    const Virmgrpc__PartitionRequirements *wire;
    struct vipu_requirements r;

    if (!request)
        return false;
    wire = request->requirements;
    if (!wire)
        return err_set(err, ERR_INVALID, "the request contains no requirements");
    r = (struct vipu_requirements){
        .id = proto_clean(wire->id),
        .size = wire->size,
        .cluster_id = proto_clean(wire->cluster_id),
        .allocation_id = proto_clean(wire->allocation_id),
        .routing = (enum vipu_routing)wire->ipulink_routing_type,
        .gateway_routing = (enum vipu_gateway_routing)wire->gw_routing_type,
        .sync_type = (enum vipu_sync_type)wire->sync_type,
        .num_ilds = wire->num_ipulink_segments,
        .num_gcds = wire->num_gcds,
        .num_replicas = wire->num_replicas,
        .reconfigurable = wire->reconfigurable,
        .disable_auto_reset = request->disable_auto_reset,
        .relocatable = request->relocatable,
        .access_key = proto_clean(request->access_key),
    };
    if (!take_ipus(wire, arena, &r, err))
        return false;
    *ret = r;
    return true;
}

bool wire_get_remove(struct slice bytes, struct arena *arena, struct wire_partition_request *ret,
                     struct err *err)
{
    Virmgrpc__RemovePartitionRequest *request =
        proto_unpack_request(&virmgrpc__remove_partition_request__descriptor, bytes, arena, err);

    if (!request)
        return false;
    *ret = (struct wire_partition_request){proto_clean(request->partition_id), request->force, ""};
    return true;
}

bool wire_get_reset(struct slice bytes, struct arena *arena, struct wire_partition_request *ret,
                    struct err *err)
{
    Virmgrpc__ResetPartitionRequest *request =
        proto_unpack_request(&virmgrpc__reset_partition_request__descriptor, bytes, arena, err);

    if (!request)
        return false;
    *ret = (struct wire_partition_request){proto_clean(request->partition_id), request->relocatable,
                                           proto_clean(request->access_key)};
    return true;
}

bool wire_get_status_request(struct slice bytes, struct arena *arena, struct wire_partition_request *ret,
                             struct err *err)
{
    Virmgrpc__GetPartitionStatusRequest *request =
        proto_unpack_request(&virmgrpc__get_partition_status_request__descriptor, bytes, arena, err);

    if (!request)
        return false;
    *ret =
        (struct wire_partition_request){.partition_id = proto_clean(request->partition_id), .access_key = ""};
    return true;
}

bool wire_get_ipuof_request(struct slice bytes, struct arena *arena, struct wire_ipuof_request *ret,
                            struct err *err)
{
    Virmgrpc__GetPartitionIpuofConfigRequest *request =
        proto_unpack_request(&virmgrpc__get_partition_ipuof_config_request__descriptor, bytes, arena, err);

    if (!request)
        return false;
    *ret = (struct wire_ipuof_request){
        .partition_id = proto_clean(request->partition_id),
        .has_gcd = request->gcd_id != NULL,
        .gcd = request->gcd_id ? request->gcd_id->id : 0,
    };
    return true;
}
