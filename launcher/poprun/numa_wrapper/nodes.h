/* The NUMA nodes of this host as the kernel lists them in a folder. Nodes that cannot be read, or have no
 * CPU that may be used, are left out: there is nothing to bind an instance to. */
#pragma once

#include "launcher/poprun/plan/numa.h"

#define NODES_FOLDER "/sys/devices/system/node"

struct nodes {
    struct numa_node *items; /* in the order of their numbers */
    uint32_t count;
};

/* CPUs are restricted to the allowed ones. The caller releases the result. */
void nodes_read(const char *folder, const struct cpu_set *allowed, struct nodes *ret);
void nodes_release(struct nodes *nodes);

static inline void nodes_auto(struct nodes *nodes)
{
    nodes_release(nodes);
}
