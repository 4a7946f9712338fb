#include "vipu/wire/messages/partitions.h"

#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "vipu/wire/messages/fields.h"
#include "vipu/wire/messages/proto.h"

#define LIST_FIELD 1u /* ListPartitionsReply.partitions */

bool wire_put_partition(const struct vipu_partition *p, struct str *out)
{
    AUTO(arena) struct arena arena = {.budget = SIZE_MAX};
    Virmgrpc__ListPartitionsReply reply = VIRMGRPC__LIST_PARTITIONS_REPLY__INIT;
    Virmgrpc__Partition wire = VIRMGRPC__PARTITION__INIT, *only = &wire;
    Virmgrpc__PartitionSpec spec = VIRMGRPC__PARTITION_SPEC__INIT;

    spec.cluster_id = proto_text(p->cluster_id);
    spec.n_ipus = p->size;
    spec.ipus = proto_ipus(p->ipus, p->size, &arena);
    spec.ipulink_routing_type = (Virmgrpc__IpulinkRoutingType)p->routing;
    spec.sync_type = (Virmgrpc__SyncType)p->sync_type;
    spec.num_gcds = p->num_gcds;
    spec.num_ipulink_segments = p->num_ilds;
    spec.reconfigurable = p->reconfigurable;
    spec.gw_routing_type = (Virmgrpc__GatewayRoutingType)p->gateway_routing;
    spec.num_replicas = p->num_replicas;
    spec.allocation_id = proto_text(p->allocation_id);
    wire.id = proto_text(p->id);
    wire.spec = &spec;
    wire.ready_state = (Virmgrpc__PartitionReadyState)p->ready_state;
    wire.ipuof_server_version = proto_text(p->ipuof_server_version);
    reply.n_partitions = 1;
    reply.partitions = &only;
    return proto_pack(&reply, out);
}

static struct vipu_partition take_partition(const Virmgrpc__Partition *wire)
{
    static const Virmgrpc__PartitionSpec no_spec = VIRMGRPC__PARTITION_SPEC__INIT;
    const Virmgrpc__PartitionSpec *spec = wire->spec ? wire->spec : &no_spec;
    struct vipu_partition p = {
        .id = proto_copy(wire->id),
        .cluster_id = proto_copy(spec->cluster_id),
        .allocation_id = proto_copy(spec->allocation_id),
        .ipuof_server_version = proto_copy(wire->ipuof_server_version),
        .size = (uint32_t)spec->n_ipus,
        .num_gcds = spec->num_gcds,
        .num_replicas = spec->num_replicas,
        .num_ilds = spec->num_ipulink_segments,
        .reconfigurable = spec->reconfigurable,
        .ready_state = (enum vipu_ready_state)wire->ready_state,
        .sync_type = (enum vipu_sync_type)spec->sync_type,
        .routing = (enum vipu_routing)spec->ipulink_routing_type,
        .gateway_routing = (enum vipu_gateway_routing)spec->gw_routing_type,
        .ipus = spec->n_ipus ? mem_alloc(spec->n_ipus * sizeof(struct vipu_ipu)) : NULL,
    };

    for (uint32_t i = 0; i < p.size; i++)
        p.ipus[i] = proto_ipu(spec->ipus[i]);
    return p;
}

/* The memory of a partition beside its list entry, including the allocator's overhead. */
static size_t cost_of(const struct vipu_partition *p)
{
    const char *texts[] = {p->id, p->cluster_id, p->allocation_id, p->ipuof_server_version};
    size_t cost = p->size * sizeof(*p->ipus) + ARENA_PIECE_OVERHEAD;

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        cost += strlen(texts[i]) + ARENA_PIECE_OVERHEAD;
    return cost;
}

/* One after the other, so that a long list never exists as a tree as well. */
static bool fill(struct slice bytes, struct arena *arena, struct vipu_partitions *list)
{
    struct slice element;
    struct err err;

    while (field_next_of(&bytes, LIST_FIELD, &element)) {
        const Virmgrpc__Partition *wire =
            proto_unpack(&virmgrpc__partition__descriptor, element, arena, &err);
        size_t cost;

        if (!wire)
            return false;
        list->items[list->count] = take_partition(wire);
        cost = cost_of(&list->items[list->count++]);
        arena_clear(arena);
        if (!arena_charge(arena, cost))
            return false;
    }
    return true;
}

bool wire_get_partitions(struct slice bytes, size_t budget, struct vipu_partitions *ret, struct err *err)
{
    AUTO(arena) struct arena arena = {.budget = budget};
    AUTO(vipu_partitions) struct vipu_partitions list = {0};
    size_t count;

    if (field_count_of(bytes, LIST_FIELD, &count) && count <= budget / sizeof(*list.items)) {
        (void)arena_charge(&arena, count * sizeof(*list.items));
        list.items = count ? mem_alloc(count * sizeof(*list.items)) : NULL;
        if (fill(bytes, &arena, &list)) {
            *ret = list;
            list = (struct vipu_partitions){0};
            return true;
        }
    }
    return err_set(err, ERR_IO,
                   "cannot decode the list of partitions (%zu bytes): invalid, or over the memory limit",
                   bytes.len);
}
