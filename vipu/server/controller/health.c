#include "vipu/server/controller/health.h"

#include "base/core/mem.h"
#include "vipu/server/controller/hardware.h"

#define MAX_SENTENCES 16u

void health_init(struct health *health, struct vipu_allocator *allocator)
{
    *health = (struct health){.allocator = allocator, .next_ms = -1};
}

char *health_of_ipu(const struct health *health, const struct vipu_machine *machine, uint32_t topology_id)
{
    if (!health->is_any)
        return NULL;
    return faults_of_ipu(health->faults, machine->name, hardware_board_index(topology_id), health->now_ms);
}

static uint64_t failing_of(const struct health *health, const struct vipu_cluster_domain *domain)
{
    uint64_t mask = 0;

    for (uint32_t id = 0; id < domain->machine_count * VIPU_AGENT_IPUS; id++) {
        AUTO(mem) char *why = health_of_ipu(health, &domain->machines[id / VIPU_AGENT_IPUS], id);

        if (why)
            mask |= (uint64_t)1 << id;
    }
    return mask;
}

void health_look(struct health *health, const struct faults *faults, int64_t now_ms)
{
    const struct vipu_clusters *clusters = health->allocator->clusters;
    bool was_any = health->is_any;

    health->faults = faults;
    health->now_ms = now_ms;
    health->is_new = true;
    health->next_ms = faults ? faults_next_ms(faults, now_ms) : -1;
    health->is_any = faults && faults_have_hardware(faults, now_ms);
    for (size_t c = 0; (was_any || health->is_any) && c < clusters->count; c++) {
        const struct vipu_cluster *cluster = &clusters->items[c];

        for (size_t d = 0; d < cluster->domain_count; d++)
            vipu_allocator_set_failed(health->allocator, cluster, d,
                                      failing_of(health, &cluster->domains[d]));
    }
}

void health_step(struct health *health, int64_t now_ms)
{
    if (health->next_ms >= 0 && health->next_ms <= now_ms)
        health_look(health, health->faults, now_ms);
}

static bool ipu_fails(const struct health *health, const struct vipu_cluster *cluster,
                      const struct vipu_ipu *ipu)
{
    return vipu_allocator_failed(health->allocator, cluster, ipu->domain_topology_id) >> ipu->topology_id & 1;
}

bool health_fails(const struct health *health, const struct vipu_cluster *cluster,
                  const struct vipu_partition *p)
{
    if (!health->is_any || !cluster)
        return false;
    for (uint32_t i = 0; i < p->size; i++)
        if (ipu_fails(health, cluster, &p->ipus[i]))
            return true;
    return false;
}

void health_explain(const struct health *health, const struct vipu_cluster *cluster,
                    const struct vipu_partition *p, struct strv *out)
{
    for (uint32_t i = 0; cluster && i < p->size; i++) {
        const struct vipu_ipu *ipu = &p->ipus[i];
        const struct vipu_machine *machine =
            &cluster->domains[ipu->domain_topology_id].machines[ipu->topology_id / VIPU_AGENT_IPUS];
        AUTO(mem) char *why = health_of_ipu(health, machine, ipu->topology_id);

        if (!why || strv_has(out, why))
            continue;
        if (out->count == MAX_SENTENCES) {
            strv_push(out, "and more");
            return;
        }
        strv_push(out, why);
    }
}
