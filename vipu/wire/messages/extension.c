#include "vipu/wire/messages/extension.h"

#include <extension.pb-c.h>

#include "base/core/mem.h"
#include "vipu/wire/messages/proto.h"
#include "vipu/wire/messages/replies.h"

void wire_put_capacity_request(const struct wire_place *place, struct str *out)
{
    Ipuoperator__Vipu__V1__GetCapacityRequest request = IPUOPERATOR__VIPU__V1__GET_CAPACITY_REQUEST__INIT;

    request.cluster_id = proto_text(place->cluster_id);
    request.allocation_id = proto_text(place->allocation_id);
    proto_pack(&request, out);
}

bool wire_get_capacity_request(struct slice bytes, struct arena *arena, struct wire_place *ret,
                               struct err *err)
{
    Ipuoperator__Vipu__V1__GetCapacityRequest *request =
        proto_unpack_request(&ipuoperator__vipu__v1__get_capacity_request__descriptor, bytes, arena, err);

    if (!request)
        return false;
    *ret = (struct wire_place){proto_clean(request->cluster_id), proto_clean(request->allocation_id)};
    return true;
}

bool wire_get_nothing(struct slice bytes, struct arena *arena, struct err *err)
{
    return proto_unpack(&ipuoperator__vipu__v1__list_clusters_request__descriptor, bytes, arena, err) != NULL;
}

bool wire_put_key_hash(const char *hash, struct str *out)
{
    Ipuoperator__Vipu__V1__StoredAccess access = IPUOPERATOR__VIPU__V1__STORED_ACCESS__INIT;

    access.key_hash = proto_text(hash);
    return proto_pack(&access, out);
}

bool wire_get_key_hash(struct slice bytes, char **ret, struct err *err)
{
    AUTO(arena) struct arena arena = {.budget = WIRE_REPLY_BUDGET};
    Ipuoperator__Vipu__V1__StoredAccess *access =
        proto_unpack(&ipuoperator__vipu__v1__stored_access__descriptor, bytes, &arena, err);

    if (!access)
        return false;
    *ret = *access->key_hash ? proto_copy(access->key_hash) : NULL;
    return true;
}

bool wire_put_allocation(const struct vipu_allocation_entry *allocation, struct str *out)
{
    Ipuoperator__Vipu__V1__ListAllocationsReply reply = IPUOPERATOR__VIPU__V1__LIST_ALLOCATIONS_REPLY__INIT;
    Ipuoperator__Vipu__V1__Allocation wire = IPUOPERATOR__VIPU__V1__ALLOCATION__INIT, *only = &wire;

    wire.id = proto_text(allocation->id);
    wire.cluster_id = proto_text(allocation->cluster_id);
    wire.n_agent_ids = allocation->agents.count;
    wire.agent_ids = allocation->agents.items;
    reply.n_allocations = 1;
    reply.allocations = &only;
    return proto_pack(&reply, out);
}

bool wire_put_cluster(const struct vipu_cluster_entry *cluster, struct str *out)
{
    Ipuoperator__Vipu__V1__ListClustersReply reply = IPUOPERATOR__VIPU__V1__LIST_CLUSTERS_REPLY__INIT;
    Ipuoperator__Vipu__V1__Cluster wire = IPUOPERATOR__VIPU__V1__CLUSTER__INIT, *only = &wire;
    AUTO(mem)
    Ipuoperator__Vipu__V1__IpuLinkDomain *domains = mem_alloc((cluster->domain_count + 1) * sizeof(*domains));
    AUTO(mem)
    Ipuoperator__Vipu__V1__IpuLinkDomain **list = mem_alloc((cluster->domain_count + 1) * sizeof(*list));

    for (size_t d = 0; d < cluster->domain_count; d++) {
        ipuoperator__vipu__v1__ipu_link_domain__init(&domains[d]);
        domains[d].n_agent_ids = cluster->domains[d].agents.count;
        domains[d].agent_ids = cluster->domains[d].agents.items;
        domains[d].num_ipus = cluster->domains[d].ipu_count;
        domains[d].size = cluster->domains[d].size;
        list[d] = &domains[d];
    }
    wire.id = proto_text(cluster->id);
    wire.topology = proto_text(cluster->topology);
    wire.cluster_topology = proto_text(cluster->cluster_topology);
    wire.n_ipu_link_domains = cluster->domain_count;
    wire.ipu_link_domains = list;
    reply.n_clusters = 1;
    reply.clusters = &only;
    return proto_pack(&reply, out);
}

bool wire_put_capacity(const struct vipu_capacity *capacity, struct str *out)
{
    Ipuoperator__Vipu__V1__GetCapacityReply reply = IPUOPERATOR__VIPU__V1__GET_CAPACITY_REPLY__INIT;
    AUTO(mem) Ipuoperator__Vipu__V1__Fit *fits = mem_alloc((capacity->fit_count + 1) * sizeof(*fits));
    AUTO(mem) Ipuoperator__Vipu__V1__Fit **list = mem_alloc((capacity->fit_count + 1) * sizeof(*list));

    for (size_t i = 0; i < capacity->fit_count; i++) {
        ipuoperator__vipu__v1__fit__init(&fits[i]);
        fits[i].size = capacity->fits[i].size;
        fits[i].count = capacity->fits[i].count;
        list[i] = &fits[i];
    }
    reply.total_ipus = capacity->total_ipus;
    reply.free_ipus = capacity->free_ipus;
    reply.n_fits = capacity->fit_count;
    reply.fits = list;
    return proto_pack(&reply, out);
}

/* A reply of the controller that cannot be decoded is its failure, not the caller's mistake. */
static void *unpack_reply(const ProtobufCMessageDescriptor *type, struct slice bytes, struct arena *arena,
                          struct err *err)
{
    void *reply = proto_unpack(type, bytes, arena, err);

    if (!reply)
        err->kind = ERR_IO;
    return reply;
}

static void take_agents(struct strv *to, char **from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        strv_push(to, proto_clean(from[i]));
}

bool wire_get_allocations(struct slice bytes, size_t budget, struct vipu_allocation_list *ret,
                          struct err *err)
{
    AUTO(arena) struct arena arena = {.budget = budget};
    Ipuoperator__Vipu__V1__ListAllocationsReply *reply =
        unpack_reply(&ipuoperator__vipu__v1__list_allocations_reply__descriptor, bytes, &arena, err);

    if (!reply)
        return false;
    ret->count = reply->n_allocations;
    ret->items = mem_alloc((ret->count + 1) * sizeof(*ret->items));
    for (size_t i = 0; i < ret->count; i++) {
        Ipuoperator__Vipu__V1__Allocation *from = reply->allocations[i];

        ret->items[i].id = mem_strdup(proto_clean(from->id));
        ret->items[i].cluster_id = mem_strdup(proto_clean(from->cluster_id));
        take_agents(&ret->items[i].agents, from->agent_ids, from->n_agent_ids);
    }
    return true;
}

static bool is_sane(const Ipuoperator__Vipu__V1__Cluster *cluster)
{
    for (size_t d = 0; d < cluster->n_ipu_link_domains; d++)
        if (cluster->ipu_link_domains[d]->num_ipus > VIPU_ILD_IPUS ||
            cluster->ipu_link_domains[d]->size > VIPU_ILD_IPUS)
            return false;
    return true;
}

static void take_cluster(struct vipu_cluster_entry *to, Ipuoperator__Vipu__V1__Cluster *from)
{
    to->id = mem_strdup(proto_clean(from->id));
    to->topology = mem_strdup(proto_clean(from->topology));
    to->cluster_topology = mem_strdup(proto_clean(from->cluster_topology));
    to->domain_count = from->n_ipu_link_domains;
    to->domains = mem_alloc((to->domain_count + 1) * sizeof(*to->domains));
    for (size_t d = 0; d < to->domain_count; d++) {
        to->domains[d].ipu_count = from->ipu_link_domains[d]->num_ipus;
        to->domains[d].size = from->ipu_link_domains[d]->size;
        take_agents(&to->domains[d].agents, from->ipu_link_domains[d]->agent_ids,
                    from->ipu_link_domains[d]->n_agent_ids);
    }
}

bool wire_get_clusters(struct slice bytes, size_t budget, struct vipu_cluster_list *ret, struct err *err)
{
    AUTO(arena) struct arena arena = {.budget = budget};
    Ipuoperator__Vipu__V1__ListClustersReply *reply =
        unpack_reply(&ipuoperator__vipu__v1__list_clusters_reply__descriptor, bytes, &arena, err);

    if (!reply)
        return false;
    for (size_t i = 0; i < reply->n_clusters; i++)
        if (!is_sane(reply->clusters[i]))
            return err_set(err, ERR_IO, "the reply has an IPU-Link domain with more than %u IPUs",
                           VIPU_ILD_IPUS);
    ret->count = reply->n_clusters;
    ret->items = mem_alloc((ret->count + 1) * sizeof(*ret->items));
    for (size_t i = 0; i < ret->count; i++)
        take_cluster(&ret->items[i], reply->clusters[i]);
    return true;
}

bool wire_get_capacity(struct slice bytes, size_t budget, struct vipu_capacity *ret, struct err *err)
{
    AUTO(arena) struct arena arena = {.budget = budget};
    Ipuoperator__Vipu__V1__GetCapacityReply *reply =
        unpack_reply(&ipuoperator__vipu__v1__get_capacity_reply__descriptor, bytes, &arena, err);

    if (!reply)
        return false;
    ret->total_ipus = reply->total_ipus;
    ret->free_ipus = reply->free_ipus;
    ret->fit_count = reply->n_fits;
    ret->fits = mem_alloc((ret->fit_count + 1) * sizeof(*ret->fits));
    for (size_t i = 0; i < ret->fit_count; i++)
        ret->fits[i] = (struct vipu_fit){reply->fits[i]->size, reply->fits[i]->count};
    return true;
}
