#include "vipu/placement/placement_candidates.h"

#include "base/core/mem.h"

static bool is_given(const char *text)
{
    return text && *text;
}

/* The cluster or allocation that a request names. Without a name: NULL and NULL, anywhere. */
static bool named_place(const struct vipu_clusters *clusters, const struct vipu_requirements *r,
                        const struct vipu_cluster **ret_cluster,
                        const struct vipu_allocation **ret_allocation, struct strv *problems)
{
    const struct vipu_cluster *cluster = NULL, *of_allocation = NULL;
    const struct vipu_allocation *allocation = NULL;
    size_t before = problems->count;

    if (is_given(r->cluster_id) && !(cluster = vipu_clusters_find(clusters, r->cluster_id)))
        strv_pushf(problems, "cluster \"%s\" not found", r->cluster_id);
    if (is_given(r->allocation_id) &&
        !(allocation = vipu_clusters_allocation(clusters, r->allocation_id, &of_allocation)))
        strv_pushf(problems, "allocation \"%s\" not found", r->allocation_id);
    if (cluster && allocation && cluster != of_allocation)
        strv_pushf(problems, "allocation \"%s\" is part of cluster \"%s\", not of \"%s\"", r->allocation_id,
                   of_allocation->id, r->cluster_id);
    *ret_cluster = allocation ? of_allocation : cluster;
    *ret_allocation = allocation ? allocation : cluster ? &cluster->allocations[0] : NULL;
    return problems->count == before;
}

/* Every listed IPU occurs once, and the logical numbers are 0 to size - 1, each once. */
static void check_listed(const struct vipu_cluster *cluster, const struct vipu_allocation *allocation,
                         const struct vipu_requirements *r, struct strv *problems)
{
    AUTO(mem) uint64_t *seen = mem_alloc((cluster->domain_count + 1) * sizeof(*seen));
    AUTO(mem) bool *numbered = mem_alloc(r->ipu_count * sizeof(*numbered));
    uint32_t domains = 0;

    for (size_t i = 0; i < r->ipu_count; i++) {
        const struct vipu_ipu *ipu = &r->ipus[i];
        uint32_t d = ipu->domain_topology_id;

        if (d >= cluster->domain_count || !(allocation->usable[d] & vipu_ipu_bit(ipu))) {
            strv_pushf(problems, "IPU %u of IPU-Link domain %u is not in allocation \"%s\"", ipu->topology_id,
                       d, allocation->id);
            return;
        }
        if (seen[d] & vipu_ipu_bit(ipu))
            strv_pushf(problems, "duplicate IPU %u of IPU-Link domain %u", ipu->topology_id, d);
        domains += seen[d] == 0;
        seen[d] |= vipu_ipu_bit(ipu);
        if (ipu->routing_id >= r->ipu_count || numbered[ipu->routing_id]) {
            strv_pushf(problems, "the routing IDs of %zu listed IPUs must be 0 to %zu, each once; got %u",
                       r->ipu_count, r->ipu_count - 1, ipu->routing_id);
            return;
        }
        numbered[ipu->routing_id] = true;
    }
    if (domains != r->num_ilds)
        strv_pushf(problems, "the listed IPUs are in %u IPU-Link domains, expected %u", domains, r->num_ilds);
}

static bool has_loops(const struct vipu_cluster *cluster)
{
    return cluster->torus;
}

static bool has_gateway_loops(const struct vipu_cluster *cluster)
{
    return cluster->looped;
}

static bool has_switches(const struct vipu_cluster *cluster)
{
    return cluster->switched;
}

/* Which cables a routing requires of a cluster. */
static const struct cabling {
    enum vipu_routing routing;         /* 0: any */
    enum vipu_gateway_routing gateway; /* 0: any */
    bool (*is_there)(const struct vipu_cluster *cluster);
    const char *need;
} cablings[] = {
    {VIPU_ROUTING_RINGSWNC, 0, has_loops,
     "routing RINGSWNC requires a torus (loop cables between the IPU-Links)"},
    {0, VIPU_GATEWAY_RING, has_gateway_loops, "gateway routing RING requires looped gateway links"},
    {0, VIPU_GATEWAY_SWRING, has_switches, "gateway routing SWRING requires switched gateway links"},
};

static bool asks_for(const struct vipu_requirements *r, const struct cabling *cabling)
{
    return cabling->routing ? cabling->routing == r->routing : cabling->gateway == r->gateway_routing;
}

static bool is_cabled_for(const struct vipu_cluster *cluster, const struct vipu_requirements *r)
{
    for (size_t i = 0; i < COUNT_OF(cablings); i++)
        if (asks_for(r, &cablings[i]) && !cablings[i].is_there(cluster))
            return false;
    return true;
}

static void check_cabling(const struct vipu_clusters *clusters, const struct vipu_cluster *cluster,
                          const struct vipu_requirements *r, struct strv *problems)
{
    for (size_t i = 0; i < COUNT_OF(cablings); i++) {
        bool found = cluster && cablings[i].is_there(cluster);

        if (!asks_for(r, &cablings[i]))
            continue;
        for (size_t c = 0; !cluster && !found && c < clusters->count; c++)
            found = cablings[i].is_there(&clusters->items[c]);
        if (!found && cluster)
            strv_pushf(problems, "%s, not available in cluster \"%s\"", cablings[i].need, cluster->id);
        else if (!found)
            strv_pushf(problems, "%s, not available in any cluster", cablings[i].need);
    }
}

bool vipu_candidates_check(const struct vipu_clusters *clusters, const struct vipu_requirements *r,
                           struct strv *problems)
{
    const struct vipu_cluster *cluster;
    const struct vipu_allocation *allocation;
    size_t before = problems->count, pos = 0;
    struct vipu_candidate candidate;

    if (!named_place(clusters, r, &cluster, &allocation, problems))
        return false;
    if (cluster && r->ipu_count)
        check_listed(cluster, allocation, r, problems);
    check_cabling(clusters, cluster, r, problems);
    if (problems->count == before && !vipu_candidate_next(clusters, r, &pos, &candidate))
        strv_pushf(problems, "no cluster supports both routing %s and gateway routing %s",
                   vipu_routing_name(r->routing), vipu_gateway_routing_name(r->gateway_routing));
    return problems->count == before;
}

bool vipu_candidate_next(const struct vipu_clusters *clusters, const struct vipu_requirements *r, size_t *pos,
                         struct vipu_candidate *ret)
{
    AUTO(strv) struct strv problems = {0};
    struct vipu_candidate named;

    if (!named_place(clusters, r, &named.cluster, &named.allocation, &problems))
        return false;
    while (*pos < (named.cluster ? 1 : clusters->count)) {
        const struct vipu_cluster *any = &clusters->items[(*pos)++];

        *ret = named.cluster ? named : (struct vipu_candidate){any, &any->allocations[0]};
        if (is_cabled_for(ret->cluster, r))
            return true;
    }
    return false;
}
