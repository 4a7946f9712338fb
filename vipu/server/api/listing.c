#include "vipu/server/api/listing.h"

#include "base/core/map.h"
#include "base/core/mem.h"
#include "vipu/server/controller/hardware.h"
#include "vipu/server/controller/tenancy.h"
#include "vipu/wire/messages/replies.h"

/* The public API does not define what a partition reports while it is being reset. */
enum vipu_ready_state listing_state(const struct controller_partition *entry,
                                    const struct fault_quirks *quirks)
{
    if (entry->operation == VIPU_OPERATION_RESETTING && quirks->reset_stays_active)
        return VIPU_READY_ACTIVE;
    return entry->partition.ready_state;
}

void listing_put_partitions(const struct controller *c, const struct user *user,
                            const struct fault_quirks *quirks, const char *allocation_id, struct str *out)
{
    CONTROLLER_EACH (entry, c) {
        struct vipu_partition p = entry->partition; /* borrowed */

        p.ready_state = listing_state(entry, quirks);
        if ((*allocation_id && !str_eq(p.allocation_id, allocation_id)) || !user_may_use(user, &p))
            continue;
        if (p.ready_state != VIPU_READY_PENDING || !quirks->list_hides_pending)
            wire_put_partition(&p, out);
    }
}

static void tell_health(const struct health *health, const struct vipu_machine *machine,
                        struct vipu_agent *agent)
{
    for (size_t i = 0; i < agent->ipu_count; i++) {
        AUTO(mem) char *why = health_of_ipu(health, machine, hardware_topology_id(agent->ipus[i].id));

        if (why)
            hardware_set_error(&agent->ipus[i], why);
    }
}

static void put_agents(const struct controller *c, const struct user *user,
                       const struct vipu_cluster *cluster, size_t index, const struct map *wanted,
                       struct str *out)
{
    const struct vipu_cluster_domain *domain = &cluster->domains[index];

    for (uint32_t machine = 0; machine < domain->machine_count; machine++) {
        AUTO(vipu_agent) struct vipu_agent agent = {0};

        if ((wanted->count > 0 && !map_get(wanted, domain->machines[machine].name)) ||
            !tenancy_sees_agent(c, user, cluster, index, machine))
            continue;
        agent = hardware_agent(domain, machine);
        tell_health(&c->health, &domain->machines[machine], &agent);
        wire_put_agent(&agent, out);
    }
}

void listing_put_agents(const struct controller *c, const struct user *user, const struct wire_names *names,
                        struct str *out)
{
    const struct vipu_clusters *clusters = c->clusters;
    struct map wanted = {0};

    for (size_t i = 0; i < names->count; i++)
        map_set(&wanted, names->items[i], names->items[i]);
    for (size_t i = 0; i < clusters->count; i++)
        for (size_t d = 0; d < clusters->items[i].domain_count; d++)
            put_agents(c, user, &clusters->items[i], d, &wanted, out);
    map_release(&wanted);
}
