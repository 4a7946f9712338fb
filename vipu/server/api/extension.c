#include "vipu/server/api/extension.h"

#include "base/core/mem.h"
#include "vipu/model/shape.h"
#include "vipu/server/controller/tenancy.h"

/* The agents of machines with all IPUs in the mask. */
static void add_agents(const struct vipu_cluster_domain *domain, uint64_t usable, struct strv *agents)
{
    for (uint32_t machine = 0; machine < domain->machine_count; machine++)
        if (usable >> machine * VIPU_AGENT_IPUS & 1)
            strv_push(agents, domain->machines[machine].name);
}

static void put_allocation(const struct vipu_cluster *cluster, const struct vipu_allocation *allocation,
                           struct str *out)
{
    struct vipu_allocation_entry entry = {.id = allocation->id, .cluster_id = cluster->id};

    for (size_t d = 0; d < cluster->domain_count; d++)
        add_agents(&cluster->domains[d], allocation->usable[d], &entry.agents);
    wire_put_allocation(&entry, out);
    strv_release(&entry.agents);
}

void extension_put_allocations(const struct vipu_clusters *clusters, const struct user *user, struct str *out)
{
    for (size_t c = 0; c < clusters->count; c++) {
        const struct vipu_cluster *cluster = &clusters->items[c];

        for (size_t a = 0; a < cluster->allocation_count; a++)
            if (user_may(user, cluster->allocations[a].id))
                put_allocation(cluster, &cluster->allocations[a], out);
    }
}

/* The part of the domain that is in some allocation of the user. */
static uint64_t seen_of(const struct vipu_cluster *cluster, const struct user *user, size_t domain)
{
    uint64_t seen = 0;

    for (size_t a = 0; a < cluster->allocation_count; a++)
        if (user_may(user, cluster->allocations[a].id))
            seen |= cluster->allocations[a].usable[domain];
    return seen;
}

static void put_cluster(const struct vipu_cluster *cluster, const struct user *user, struct str *out)
{
    AUTO(mem) char *topology = mem_strdup(cluster->torus ? "torus" : "mesh");
    AUTO(mem)
    char *links = mem_strdup(cluster->switched ? "switched" : cluster->looped ? "looped" : "unlooped");
    struct vipu_cluster_entry entry = {.id = cluster->id,
                                       .topology = topology,
                                       .cluster_topology = links,
                                       .domain_count = cluster->domain_count};
    uint32_t ipus = 0;

    entry.domains = mem_alloc((cluster->domain_count + 1) * sizeof(*entry.domains));
    for (size_t d = 0; d < cluster->domain_count; d++) {
        uint64_t seen = seen_of(cluster, user, d);

        add_agents(&cluster->domains[d], seen, &entry.domains[d].agents);
        entry.domains[d].ipu_count = (uint32_t)__builtin_popcountll(seen);
        entry.domains[d].size = cluster->domains[d].machine_count * VIPU_AGENT_IPUS;
        ipus += entry.domains[d].ipu_count;
    }
    if (ipus)
        wire_put_cluster(&entry, out);
    for (size_t d = 0; d < cluster->domain_count; d++)
        strv_release(&entry.domains[d].agents);
    mem_free(entry.domains);
}

void extension_put_clusters(const struct vipu_clusters *clusters, const struct user *user, struct str *out)
{
    for (size_t c = 0; c < clusters->count; c++)
        put_cluster(&clusters->items[c], user, out);
}

/* As the list of clusters says it. */
static bool sees_cluster(const struct vipu_clusters *clusters, const struct user *user, const char *id)
{
    const struct vipu_cluster *cluster = vipu_clusters_find(clusters, id);
    bool is_seen = false;

    for (size_t d = 0; cluster && d < cluster->domain_count; d++)
        is_seen = is_seen || seen_of(cluster, user, d);
    return is_seen;
}

/* The named allocation, and its cluster. NULL with err. */
static const struct vipu_allocation *meant_by(const struct controller *c, const struct user *user,
                                              const struct wire_place *place,
                                              const struct vipu_cluster **ret_cluster, struct err *err)
{
    const char *id = *place->allocation_id ? place->allocation_id : place->cluster_id;
    const struct vipu_allocation *allocation;

    if (!*id) {
        err_set(err, ERR_INVALID, "a cluster or an allocation is required");
        return NULL;
    }
    if (!tenancy_check_allocation(c, user, id, err)) {
        if (!*place->allocation_id && !sees_cluster(c->clusters, user, id))
            err_set(err, ERR_NOT_FOUND, "cluster \"%s\" not found", id);
        return NULL;
    }
    allocation = vipu_clusters_allocation(c->clusters, id, ret_cluster);
    if (*place->cluster_id && !str_eq(place->cluster_id, (*ret_cluster)->id)) {
        err_set(err, ERR_INVALID, "allocation \"%s\" is part of cluster \"%s\", not of \"%s\"", id,
                (*ret_cluster)->id, place->cluster_id);
        return NULL;
    }
    return allocation;
}

bool extension_put_capacity(const struct controller *c, const struct user *user,
                            const struct wire_place *place, struct str *out, struct err *err)
{
    const struct vipu_cluster *cluster;
    const struct vipu_allocation *allocation = meant_by(c, user, place, &cluster, err);
    struct vipu_fit fits[32];
    struct vipu_capacity capacity = {.fits = fits};
    struct vipu_usage room;

    if (!allocation)
        return false;
    room = vipu_allocator_usage(&c->allocator, cluster, allocation);
    capacity.total_ipus = room.total;
    capacity.free_ipus = room.free;
    for (uint32_t size = 1; size && size <= room.total; size *= 2) {
        struct vipu_requirements wanted =
            vipu_requirements_with_defaults(&(struct vipu_requirements){.size = size,
                                                                        .num_ilds = vipu_fewest_ilds(size),
                                                                        .cluster_id = cluster->id,
                                                                        .allocation_id = allocation->id});

        fits[capacity.fit_count++] = (struct vipu_fit){size, vipu_allocator_count(&c->allocator, &wanted)};
    }
    wire_put_capacity(&capacity, out);
    return true;
}
