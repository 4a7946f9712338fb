#include "vipu/model/cluster.h"

#include <string.h>

#include "base/core/mem.h"

uint64_t vipu_block_mask(uint32_t start, uint32_t size)
{
    return (UINT64_MAX >> (64 - size)) << start;
}

static void cluster_release(struct vipu_cluster *cluster)
{
    for (size_t d = 0; d < cluster->domain_count; d++) {
        for (uint32_t m = 0; m < cluster->domains[d].machine_count; m++) {
            mem_free(cluster->domains[d].machines[m].name);
            mem_free(cluster->domains[d].machines[m].ipuof_ip);
        }
    }
    for (size_t a = 0; a < cluster->allocation_count; a++) {
        mem_free(cluster->allocations[a].id);
        mem_free(cluster->allocations[a].usable);
    }
    mem_free(cluster->domains);
    mem_free(cluster->allocations);
    mem_free(cluster->id);
}

void vipu_clusters_release(struct vipu_clusters *clusters)
{
    if (!clusters)
        return;
    for (size_t c = 0; c < clusters->count; c++)
        cluster_release(&clusters->items[c]);
    mem_free(clusters->items);
    *clusters = (struct vipu_clusters){0};
}

uint64_t vipu_domain_ipus(const struct vipu_cluster_domain *domain)
{
    return domain->machine_count ? vipu_block_mask(0, domain->machine_count * VIPU_AGENT_IPUS) : 0;
}

struct vipu_cluster *vipu_clusters_find(const struct vipu_clusters *clusters, const char *id)
{
    for (size_t c = 0; c < clusters->count; c++)
        if (strcmp(clusters->items[c].id, id) == 0)
            return &clusters->items[c];
    return NULL;
}

const struct vipu_allocation *vipu_clusters_allocation(const struct vipu_clusters *clusters, const char *id,
                                                       const struct vipu_cluster **ret_cluster)
{
    for (size_t c = 0; c < clusters->count; c++) {
        const struct vipu_cluster *cluster = &clusters->items[c];

        for (size_t a = 0; a < cluster->allocation_count; a++) {
            if (strcmp(cluster->allocations[a].id, id) == 0) {
                *ret_cluster = cluster;
                return &cluster->allocations[a];
            }
        }
    }
    return NULL;
}
