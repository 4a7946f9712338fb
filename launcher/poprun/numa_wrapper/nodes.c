#include "launcher/poprun/numa_wrapper/nodes.h"

#include "base/core/mem.h"
#include "base/io/file.h"

#define LIST_MAX_BYTES ((size_t)64 * 1024)

static bool read_list(const char *path, struct cpu_set *ret)
{
    AUTO(str) struct str text = {0};
    struct err err;

    return file_read(path, LIST_MAX_BYTES, &text, &err) && cpu_set_read(str_text(&text), ret);
}

static void add_node(struct nodes *nodes, const char *folder, uint32_t number, const struct cpu_set *allowed)
{
    AUTO(mem) char *path = mem_printf("%s/node%u/cpulist", folder, number);
    struct numa_node node = {.number = number};

    if (!read_list(path, &node.cpus))
        return;
    cpu_set_cut(&node.cpus, allowed);
    if (cpu_set_is_empty(&node.cpus))
        return;
    nodes->items = mem_grow(nodes->items, nodes->count + 1, sizeof(*nodes->items));
    nodes->items[nodes->count++] = node;
}

void nodes_read(const char *folder, const struct cpu_set *allowed, struct nodes *ret)
{
    AUTO(mem) char *path = mem_printf("%s/online", folder);
    struct cpu_set online;

    *ret = (struct nodes){0};
    if (!read_list(path, &online))
        return;
    for (uint32_t number = 0; number < NUMA_CPUS_MAX; number++)
        if (cpu_set_has(&online, number))
            add_node(ret, folder, number, allowed);
}

void nodes_release(struct nodes *nodes)
{
    mem_free(nodes->items);
    *nodes = (struct nodes){0};
}
