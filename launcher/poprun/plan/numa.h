/* Which NUMA nodes an instance gets: those of its host are divided among the instances there. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/str.h"

#define NUMA_CPUS_MAX 8192u

struct cpu_set {
    uint64_t bits[NUMA_CPUS_MAX / 64];
};

/* A list in the kernel's format: "0-3,8,10-11". False if it is invalid, or a number is too large. */
bool cpu_set_read(const char *text, struct cpu_set *ret);
bool cpu_set_has(const struct cpu_set *set, uint32_t cpu);
void cpu_set_add(struct cpu_set *set, uint32_t cpu);
bool cpu_set_is_empty(const struct cpu_set *set);
void cpu_set_cut(struct cpu_set *set, const struct cpu_set *allowed);

/* A node with CPUs that may be used. */
struct numa_node {
    uint32_t number;
    struct cpu_set cpus;
};

/* Instance `index` of `count` gets those of `nodes` nodes from *ret_first up to, excluding, *ret_end:
 * several, or a shared one if there are fewer nodes than instances. */
void numa_share(uint32_t nodes, uint32_t index, uint32_t count, uint32_t *ret_first, uint32_t *ret_end);
/* The same with the actual nodes: the CPUs to bind to, and the nodes whose memory is preferred. At least
 * one. */
void numa_place(const struct numa_node *nodes, uint32_t node_count, uint32_t index, uint32_t count,
                struct cpu_set *ret_cpus, struct cpu_set *ret_nodes);
