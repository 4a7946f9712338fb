#include "vipu/cli/commands/partition_index.h"

#include "base/core/mem.h"

static void list_ipus(uint32_t domain, uint32_t first, struct vipu_requirements *r,
                      struct vipu_ipu **ret_ipus)
{
    *ret_ipus = mem_alloc(r->size * sizeof(**ret_ipus));
    for (uint32_t i = 0; i < r->size; i++)
        (*ret_ipus)[i] =
            (struct vipu_ipu){.domain_topology_id = domain, .topology_id = first + i, .routing_id = i};
    r->ipus = *ret_ipus;
    r->ipu_count = r->size;
}

bool partition_index_resolve(const struct vipu_cluster_entry *cluster, uint32_t index,
                             struct vipu_requirements *r, struct vipu_ipu **ret_ipus, struct err *err)
{
    uint32_t before = 0;

    if (!cluster) {
        uint32_t places = VIPU_ILD_IPUS / r->size;

        list_ipus(index / places, index % places * r->size, r, ret_ipus);
        return true;
    }
    for (uint32_t d = 0; d < cluster->domain_count; d++) {
        uint32_t places = cluster->domains[d].size / r->size;

        if (index - before < places) {
            list_ipus(d, (index - before) * r->size, r, ret_ipus);
            return true;
        }
        before += places;
    }
    return err_set(err, ERR_INVALID, "--index %u is out of range: cluster \"%s\" has %u %s of %u %s", index,
                   cluster->id, before, before == 1 ? "block" : "blocks", r->size,
                   r->size == 1 ? "IPU" : "IPUs");
}
