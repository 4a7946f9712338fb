#include "fuzz/vipu/controller_invariants.h"

#include <assert.h>

void controller_check(const struct controller *c)
{
    uint64_t seen[2] = {0};

    CONTROLLER_EACH (entry, c) {
        const struct vipu_partition *p = &entry->partition;

        for (uint32_t k = 0; k < p->size; k++) {
            uint64_t bit = (uint64_t)1 << p->ipus[k].topology_id;

            assert((seen[p->ipus[k].domain_topology_id] & bit) == 0);
            seen[p->ipus[k].domain_topology_id] |= bit;
        }
    }
    for (size_t d = 0; d < COUNT_OF(seen); d++)
        assert(vipu_allocator_taken(&c->allocator, &c->clusters->items[0], d) == seen[d]);
}
