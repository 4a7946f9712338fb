#include "vipu/server/controller/reconfigure.h"

#include <assert.h>

#include "base/core/mem.h"

#define MAX_REASONS 32u

/* The machine of an IPU; NULL if it does not exist. */
static const struct vipu_machine *machine_of(const struct vipu_cluster *cluster, const struct vipu_ipu *ipu)
{
    const struct vipu_cluster_domain *domain;

    if (ipu->domain_topology_id >= cluster->domain_count)
        return NULL;
    domain = &cluster->domains[ipu->domain_topology_id];
    return ipu->topology_id / VIPU_AGENT_IPUS < domain->machine_count
               ? &domain->machines[ipu->topology_id / VIPU_AGENT_IPUS]
               : NULL;
}

static bool is_same_machine(const struct vipu_machine *a, const struct vipu_machine *b)
{
    return a && b && str_eq(a->name, b->name) && str_eq(a->ipuof_ip, b->ipuof_ip) && a->is_bow == b->is_bow;
}

/* The first agent that the partition would lose, or NULL. */
static const char *lost_agent(const struct controller_partition *entry, const struct vipu_cluster *next)
{
    for (uint32_t i = 0; i < entry->partition.size; i++) {
        const struct vipu_machine *machine = machine_of(entry->cluster, &entry->partition.ipus[i]);

        if (!is_same_machine(machine, machine_of(next, &entry->partition.ipus[i])))
            return machine->name;
    }
    return NULL;
}

static bool is_inside(const struct vipu_allocation *allocation, const struct vipu_partition *p)
{
    for (uint32_t i = 0; i < p->size; i++)
        if (!(allocation->usable[p->ipus[i].domain_topology_id] >> p->ipus[i].topology_id & 1))
            return false;
    return true;
}

/* NULL if the partition can stay as it is; the caller frees it. */
static char *why_not(const struct controller_partition *entry, const struct vipu_clusters *clusters)
{
    const struct vipu_partition *p = &entry->partition;
    const struct vipu_cluster *cluster = entry->cluster, *next = vipu_clusters_find(clusters, p->cluster_id);
    const struct vipu_cluster *of_allocation = NULL;
    const struct vipu_allocation *allocation =
        vipu_clusters_allocation(clusters, p->allocation_id, &of_allocation);
    const char *agent;

    if (!next)
        return mem_printf("partition %s is in cluster \"%s\", which was removed", p->id, p->cluster_id);
    if (next->torus != cluster->torus || next->looped != cluster->looped ||
        next->switched != cluster->switched)
        return mem_printf("partition %s is in cluster \"%s\", which has a different topology", p->id,
                          p->cluster_id);
    if ((agent = lost_agent(entry, next)))
        return mem_printf("partition %s has IPUs of agent \"%s\", which was removed or moved", p->id, agent);
    if (!allocation || of_allocation != next || !is_inside(allocation, p))
        return mem_printf("partition %s is in allocation \"%s\", which was removed or reduced", p->id,
                          p->allocation_id);
    return NULL;
}

static bool may_change(const struct controller *c, const struct vipu_clusters *clusters, struct strv *reasons)
{
    size_t more = 0, before = reasons->count;

    CONTROLLER_EACH (entry, c) {
        char *why = entry->cluster ? why_not(entry, clusters) : NULL;

        if (why && reasons->count - before < MAX_REASONS) {
            strv_push_take(reasons, why);
        } else if (why) {
            more++;
            mem_free(why);
        }
    }
    if (more > 0)
        strv_pushf(reasons, "and %zu more partitions", more);
    return reasons->count == before;
}

/* The partition's current placement; NULL if its hardware does not exist, or other partitions use it. */
static const struct vipu_cluster *settle(struct controller *c, const struct vipu_partition *p)
{
    const struct vipu_cluster *cluster = vipu_clusters_find(c->clusters, p->cluster_id);

    for (uint32_t i = 0; cluster && i < p->size; i++)
        if (!machine_of(cluster, &p->ipus[i]))
            return NULL;
    return cluster && vipu_allocator_reserve(&c->allocator, cluster, p->ipus, p->size) ? cluster : NULL;
}

static void settle_all(struct controller *c, bool is_unplaced)
{
    CONTROLLER_EACH (entry, c) {
        if ((entry->cluster == NULL) == is_unplaced) {
            entry->cluster = settle(c, &entry->partition);
            assert(entry->cluster || is_unplaced);
        }
    }
}

bool controller_reconfigure(struct controller *c, const struct vipu_clusters *clusters, int64_t now_ms,
                            struct strv *reasons)
{
    if (!may_change(c, clusters, reasons))
        return false;
    undo_log_clear(&c->undo);
    vipu_allocator_release(&c->allocator);
    c->clusters = clusters;
    vipu_allocator_init(&c->allocator, clusters);
    /* Partitions that have their IPUs keep them; others are placed after them. */
    settle_all(c, false);
    settle_all(c, true);
    health_look(&c->health, c->faults, now_ms);
    return true;
}
