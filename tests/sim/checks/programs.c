#include "checks/programs.h"

#include "base/core/mem.h"
#include "checks/invariants.h"

const struct node_process *programs_on(const struct world *world, const char *id)
{
    for (const struct node_process *s = world->cluster.living; s; s = s->next_living) {
        if (str_eq(s->partition, id))
            return s;
    }
    return NULL;
}

/* ---- 2: each run begins on a partition that was made or reset for it ---- */

void programs_began(struct world *world, const struct node_process *process)
{
    const void *run = map_get(&world->used, process->partition);

    if (run && (uintptr_t)run != (uintptr_t)process->run + 1)
        world_break(world, NO_IPU_TWICE,
                    "pod %s (run %u) starts on partition %s, which was not reset since run %u", process->name,
                    process->run, process->partition, (unsigned)((uintptr_t)run - 1));
    map_set(&world->used, process->partition, (void *)((uintptr_t)process->run + 1));
    world->reach_has_changed = true;
}

void programs_cleaned(struct world *world, const char *id)
{
    map_remove(&world->used, id);
    world->reach_has_changed = true;
}

void programs_release(struct world *world)
{
    map_release(&world->used);
}

/* ---- 10: who reaches what ---- */

/* They were started together, to share a partition. */
static bool is_same_pod_set(const struct node_process *a, const struct node_process *b)
{
    return a->run == b->run && str_eq(a->partition, b->partition) && str_eq(a->job_uid, b->job_uid);
}

static void reach(struct world *world, const struct sim_vipu *side, const struct node_process *s,
                  const struct node_process **users)
{
    struct err err = {0};
    const struct controller_partition *entry = controller_find(&side->core, s->partition, &err);

    for (uint32_t i = 0; entry && i < entry->partition.size; i++) {
        const struct vipu_ipu *ipu = &entry->partition.ipus[i];
        const struct node_process **user = &users[ipu->domain_topology_id * VIPU_ILD_IPUS + ipu->topology_id];

        if (*user && !is_same_pod_set(*user, s))
            world_break(world, NO_IPU_SHARED,
                        "IPU %u of %s is reached by pod %s (run %u, partition %s) and by pod %s (run %u, "
                        "partition %s)",
                        ipu->topology_id, side->name, (*user)->name, (*user)->run, (*user)->partition,
                        s->name, s->run, s->partition);
        *user = s;
    }
}

static void check_side(struct world *world, const struct sim_vipu *side)
{
    size_t slots = side->config.clusters.items[0].domain_count * VIPU_ILD_IPUS;
    AUTO(mem) const struct node_process **users = mem_alloc(slots * sizeof(*users));

    for (const struct node_process *s = world->cluster.living; s; s = s->next_living) {
        if (str_eq(s->controller, side->name))
            reach(world, side, s, users);
    }
}

/* Two programs come to share an IPU when one begins, or when a partition is made that one knows of. */
void programs_step(struct world *world)
{
    if (!world->reach_has_changed)
        return;
    world->reach_has_changed = false;
    for (size_t i = 0; i < world->net.side_count; i++)
        check_side(world, &world->sides[i]);
}
