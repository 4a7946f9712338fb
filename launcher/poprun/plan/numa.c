#include "launcher/poprun/plan/numa.h"

#include <string.h>

#include "base/core/mem.h"

bool cpu_set_has(const struct cpu_set *set, uint32_t cpu)
{
    return cpu < NUMA_CPUS_MAX && set->bits[cpu / 64] >> (cpu % 64) & 1;
}

void cpu_set_add(struct cpu_set *set, uint32_t cpu)
{
    set->bits[cpu / 64] |= (uint64_t)1 << (cpu % 64);
}

bool cpu_set_is_empty(const struct cpu_set *set)
{
    for (size_t i = 0; i < COUNT_OF(set->bits); i++)
        if (set->bits[i])
            return false;
    return true;
}

static void join(struct cpu_set *set, const struct cpu_set *more)
{
    for (size_t i = 0; i < COUNT_OF(set->bits); i++)
        set->bits[i] |= more->bits[i];
}

void cpu_set_cut(struct cpu_set *set, const struct cpu_set *allowed)
{
    for (size_t i = 0; i < COUNT_OF(set->bits); i++)
        set->bits[i] &= allowed->bits[i];
}

static bool add_range(char *range, struct cpu_set *set)
{
    char *dash = strchr(range, '-');
    uint32_t first, last;

    if (dash)
        *dash = '\0';
    if (!parse_u32(range, 0, NUMA_CPUS_MAX - 1, &first) ||
        !parse_u32(dash ? dash + 1 : range, first, NUMA_CPUS_MAX - 1, &last))
        return false;
    for (uint32_t cpu = first; cpu <= last; cpu++)
        cpu_set_add(set, cpu);
    return true;
}

bool cpu_set_read(const char *text, struct cpu_set *ret)
{
    size_t whole = strcspn(text, "\n");
    struct cpu_set set = {0};

    for (size_t at = 0; at < whole;) {
        size_t len = strcspn(text + at, ",\n");
        AUTO(mem) char *range = mem_strndup(text + at, len);

        if (!add_range(range, &set))
            return false;
        at += len + 1;
    }
    *ret = set;
    return true;
}

void numa_share(uint32_t nodes, uint32_t index, uint32_t count, uint32_t *ret_first, uint32_t *ret_end)
{
    if (nodes >= count) {
        *ret_first = (uint32_t)((uint64_t)index * nodes / count);
        *ret_end = (uint32_t)((uint64_t)(index + 1) * nodes / count);
    } else {
        *ret_first = index % nodes;
        *ret_end = *ret_first + 1;
    }
}

void numa_place(const struct numa_node *nodes, uint32_t node_count, uint32_t index, uint32_t count,
                struct cpu_set *ret_cpus, struct cpu_set *ret_nodes)
{
    uint32_t first, end;

    *ret_cpus = *ret_nodes = (struct cpu_set){0};
    numa_share(node_count, index, count, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        cpu_set_add(ret_nodes, nodes[i].number);
        join(ret_cpus, &nodes[i].cpus);
    }
}
