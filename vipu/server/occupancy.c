#include "vipu/server/occupancy.h"

#include <string.h>

#include "base/core/mem.h"
#include "vipu/model/blocks.h"

void occupancy_init(struct occupancy *o, const struct vipu_clusters *clusters)
{
    *o = (struct occupancy){.clusters = clusters};
    o->busy = mem_alloc((clusters->count + 1) * sizeof(*o->busy));
    for (size_t c = 0; c < clusters->count; c++)
        o->busy[c] = mem_alloc((clusters->items[c].domain_count + 1) * sizeof(*o->busy[c]));
}

void occupancy_release(struct occupancy *o)
{
    for (size_t c = 0; o->busy && c < o->clusters->count; c++)
        mem_free(o->busy[c]);
    mem_free(o->busy);
    *o = (struct occupancy){0};
}

static uint64_t *busy_of(const struct occupancy *o, const struct vipu_cluster *cluster)
{
    return o->busy[cluster - o->clusters->items];
}

static bool is_given(const char *text)
{
    return text && *text;
}

static uint64_t bit_of(const struct vipu_ipu *ipu)
{
    return ipu->topology_id < VIPU_ILD_IPUS ? (uint64_t)1 << ipu->topology_id : 0;
}

/* Where a request that names a cluster or an allocation may go. Without a name: NULL and NULL, anywhere. */
static bool named_place(const struct occupancy *o, const struct vipu_requirements *r,
                        const struct vipu_cluster **ret_cluster,
                        const struct vipu_allocation **ret_allocation, struct strv *problems)
{
    const struct vipu_cluster *cluster = NULL, *of_allocation = NULL;
    const struct vipu_allocation *allocation = NULL;
    size_t before = problems->count;

    if (is_given(r->cluster_id) && !(cluster = vipu_clusters_find(o->clusters, r->cluster_id)))
        strv_pushf(problems, "there is no cluster \"%s\"", r->cluster_id);
    if (is_given(r->allocation_id) &&
        !(allocation = vipu_clusters_allocation(o->clusters, r->allocation_id, &of_allocation)))
        strv_pushf(problems, "there is no allocation \"%s\"", r->allocation_id);
    if (cluster && allocation && cluster != of_allocation)
        strv_pushf(problems, "allocation \"%s\" is part of cluster \"%s\", not of \"%s\"", r->allocation_id,
                   of_allocation->id, r->cluster_id);
    *ret_cluster = allocation ? of_allocation : cluster;
    *ret_allocation = allocation ? allocation : cluster ? &cluster->allocations[0] : NULL;
    return problems->count == before;
}

/* Every listed IPU is there once, and the logical numbers are 0 to size - 1, each once. */
static void check_listed(const struct vipu_cluster *cluster, const struct vipu_allocation *allocation,
                         const struct vipu_requirements *r, struct strv *problems)
{
    AUTO(mem) uint64_t *seen = mem_alloc((cluster->domain_count + 1) * sizeof(*seen));
    AUTO(mem) bool *numbered = mem_alloc(r->ipu_count * sizeof(*numbered));
    uint32_t domains = 0;

    for (size_t i = 0; i < r->ipu_count; i++) {
        const struct vipu_ipu *ipu = &r->ipus[i];
        uint32_t d = ipu->domain_topology_id;

        if (d >= cluster->domain_count || !(allocation->usable[d] & bit_of(ipu))) {
            strv_pushf(problems, "IPU %u of IPU-Link domain %u is not in allocation \"%s\"", ipu->topology_id,
                       d, allocation->id);
            return;
        }
        if (seen[d] & bit_of(ipu))
            strv_pushf(problems, "IPU %u of IPU-Link domain %u is listed twice", ipu->topology_id, d);
        domains += seen[d] == 0;
        seen[d] |= bit_of(ipu);
        if (ipu->routing_id >= r->ipu_count || numbered[ipu->routing_id]) {
            strv_pushf(problems, "the routing ids of %zu listed IPUs must be 0 to %zu, each once; %u is not",
                       r->ipu_count, r->ipu_count - 1, ipu->routing_id);
            return;
        }
        numbered[ipu->routing_id] = true;
    }
    if (domains != r->num_ilds)
        strv_pushf(problems, "the listed IPUs lie in %u IPU-Link domains, not in %u", domains, r->num_ilds);
}

bool occupancy_check(const struct occupancy *o, const struct vipu_requirements *r, struct strv *problems)
{
    const struct vipu_cluster *cluster;
    const struct vipu_allocation *allocation;
    size_t before = problems->count;

    if (!named_place(o, r, &cluster, &allocation, problems))
        return false;
    if (cluster && r->ipu_count)
        check_listed(cluster, allocation, r, problems);
    if (cluster && r->routing == VIPU_ROUTING_RINGSWNC && !cluster->torus)
        strv_pushf(problems, "routing RINGSWNC needs loop cables, and cluster \"%s\" is a mesh", cluster->id);
    return problems->count == before;
}

static struct vipu_blocks blocks_of(const struct occupancy *o, const struct vipu_cluster *cluster,
                                    const struct vipu_allocation *allocation)
{
    struct vipu_blocks blocks;

    vipu_blocks_init(&blocks, cluster->domain_count);
    for (size_t d = 0; d < cluster->domain_count; d++)
        vipu_blocks_set_free(&blocks, d, allocation->usable[d] & ~busy_of(o, cluster)[d]);
    return blocks;
}

static struct vipu_ipu *block_ipus(const struct vipu_requirements *r, struct vipu_place place)
{
    struct vipu_ipu *ipus = mem_alloc(r->size * sizeof(*ipus));
    uint32_t per_domain = r->size / r->num_ilds;

    for (uint32_t i = 0; i < r->size; i++)
        ipus[i] = (struct vipu_ipu){
            .domain_topology_id = (uint32_t)place.domain + i / per_domain,
            .domain_routing_id = i / per_domain,
            .topology_id = place.start + i % per_domain,
            .routing_id = i,
        };
    return ipus;
}

static bool find_in(const struct occupancy *o, const struct vipu_cluster *cluster,
                    const struct vipu_allocation *allocation, const struct vipu_requirements *r,
                    struct occupancy_place *ret)
{
    AUTO(vipu_blocks) struct vipu_blocks blocks = blocks_of(o, cluster, allocation);
    struct vipu_place place;

    if (r->routing == VIPU_ROUTING_RINGSWNC && !cluster->torus)
        return false;
    if (!vipu_blocks_find(&blocks, r->size, r->num_ilds, &place))
        return false;
    *ret = (struct occupancy_place){cluster, allocation, block_ipus(r, place)};
    return true;
}

struct room {
    uint32_t total, free, largest;
};

static void add_room(const struct occupancy *o, const struct vipu_cluster *cluster,
                     const struct vipu_allocation *allocation, struct room *room)
{
    AUTO(vipu_blocks) struct vipu_blocks blocks = blocks_of(o, cluster, allocation);
    uint32_t largest = vipu_blocks_largest(&blocks);

    for (size_t d = 0; d < cluster->domain_count; d++) {
        room->total += (uint32_t)__builtin_popcountll(allocation->usable[d]);
        room->free += (uint32_t)__builtin_popcountll(blocks.free[d]);
    }
    room->largest = largest > room->largest ? largest : room->largest;
}

static bool no_room(const struct occupancy *o, const struct vipu_cluster *cluster,
                    const struct vipu_allocation *allocation, const struct vipu_requirements *r,
                    struct err *err)
{
    struct room room = {0};

    if (cluster)
        add_room(o, cluster, allocation, &room);
    for (size_t c = 0; !cluster && c < o->clusters->count; c++)
        add_room(o, &o->clusters->items[c], &o->clusters->items[c].allocations[0], &room);
    return err_set(
        err, ERR_BUSY,
        "no room for %u IPUs over %u IPU-Link domain%s: %u of %u IPUs are free, and at most %u of them "
        "can form a partition",
        r->size, r->num_ilds, r->num_ilds == 1 ? "" : "s", room.free, room.total, room.largest);
}

static int by_routing(const void *a, const void *b)
{
    uint32_t ra = ((const struct vipu_ipu *)a)->routing_id, rb = ((const struct vipu_ipu *)b)->routing_id;

    return (ra > rb) - (ra < rb);
}

static bool find_listed(const struct occupancy *o, const struct vipu_cluster *cluster,
                        const struct vipu_allocation *allocation, const struct vipu_requirements *r,
                        struct occupancy_place *ret, struct err *err)
{
    for (size_t i = 0; i < r->ipu_count; i++)
        if (busy_of(o, cluster)[r->ipus[i].domain_topology_id] & bit_of(&r->ipus[i]))
            return err_set(err, ERR_BUSY, "IPU %u of IPU-Link domain %u is taken", r->ipus[i].topology_id,
                           r->ipus[i].domain_topology_id);
    *ret = (struct occupancy_place){cluster, allocation, mem_dup(r->ipus, r->ipu_count * sizeof(*r->ipus))};
    qsort(ret->ipus, r->ipu_count, sizeof(*ret->ipus), by_routing);
    return true;
}

bool occupancy_find(const struct occupancy *o, const struct vipu_requirements *r, struct occupancy_place *ret,
                    struct err *err)
{
    AUTO(strv) struct strv problems = {0};
    const struct vipu_cluster *cluster;
    const struct vipu_allocation *allocation;

    if (!named_place(o, r, &cluster, &allocation, &problems))
        return err_set(err, ERR_INVALID, "%s", problems.items[0]);
    if (cluster && r->ipu_count)
        return find_listed(o, cluster, allocation, r, ret, err);
    if (cluster)
        return find_in(o, cluster, allocation, r, ret) || no_room(o, cluster, allocation, r, err);
    for (size_t c = 0; c < o->clusters->count; c++)
        if (find_in(o, &o->clusters->items[c], &o->clusters->items[c].allocations[0], r, ret))
            return true;
    return no_room(o, NULL, NULL, r, err);
}

bool occupancy_take(struct occupancy *o, const struct vipu_cluster *cluster, const struct vipu_ipu *ipus,
                    size_t count)
{
    uint64_t *busy = busy_of(o, cluster);

    for (size_t i = 0; i < count; i++) {
        uint32_t d = ipus[i].domain_topology_id;

        if (d >= cluster->domain_count || !(vipu_domain_ipus(&cluster->domains[d]) & bit_of(&ipus[i])) ||
            (busy[d] & bit_of(&ipus[i]))) {
            occupancy_give(o, cluster, ipus, i);
            return false;
        }
        busy[d] |= bit_of(&ipus[i]);
    }
    return true;
}

void occupancy_give(struct occupancy *o, const struct vipu_cluster *cluster, const struct vipu_ipu *ipus,
                    size_t count)
{
    for (size_t i = 0; i < count; i++)
        busy_of(o, cluster)[ipus[i].domain_topology_id] &= ~bit_of(&ipus[i]);
}
