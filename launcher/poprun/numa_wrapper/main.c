/* poprun_numa_wrapper PROGRAM [ARG]...: takes its instance's share of the host's NUMA nodes - CPUs bound,
 * memory preferred - and becomes the program. It never fails a launch for lack of what it cannot find out. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/io/file.h"
#include "launcher/poprun/numa.h"
#include "launcher/poprun/wrapper.h"
#include "popdist/contract.h"

#define LIST_MAX_BYTES ((size_t)64 * 1024)
#define NODES_FOLDER "/sys/devices/system/node"

/* The nodes that have CPUs which this process may use. */
struct nodes {
    uint32_t numbers[NUMA_CPUS_MAX];
    struct cpu_set *cpus; /* of each, cut to what is allowed */
    uint32_t count;
};

static bool read_list(const char *path, struct cpu_set *ret)
{
    AUTO(str) struct str text = {0};
    struct err err;

    return file_read(path, LIST_MAX_BYTES, &text, &err) && cpu_set_read(str_text(&text), ret);
}

static bool read_allowed(cpu_set_t *set, size_t size, struct cpu_set *ret)
{
    *ret = (struct cpu_set){0};
    if (sched_getaffinity(0, size, set) != 0)
        return false;
    for (uint32_t cpu = 0; cpu < NUMA_CPUS_MAX; cpu++)
        if (CPU_ISSET_S(cpu, size, set))
            cpu_set_add(ret, cpu);
    return true;
}

static void add_node(struct nodes *nodes, uint32_t number, const struct cpu_set *allowed)
{
    AUTO(mem) char *path = mem_printf(NODES_FOLDER "/node%u/cpulist", number);
    struct cpu_set all, usable = {0};

    if (!read_list(path, &all))
        return;
    for (size_t i = 0; i < COUNT_OF(usable.bits); i++)
        usable.bits[i] = all.bits[i] & allowed->bits[i];
    if (cpu_set_is_empty(&usable))
        return;
    nodes->cpus = mem_grow(nodes->cpus, nodes->count + 1, sizeof(*nodes->cpus));
    nodes->cpus[nodes->count] = usable;
    nodes->numbers[nodes->count++] = number;
}

static void prefer_memory(const struct cpu_set *chosen)
{
    /* Several preferred nodes need Linux 5.15; without it the kernel's own choice is good enough. */
    (void)syscall(SYS_set_mempolicy, MPOL_PREFERRED_MANY, chosen->bits, (unsigned long)NUMA_CPUS_MAX);
}

static void take_share(const struct nodes *nodes, uint32_t index, uint32_t count, cpu_set_t *set, size_t size)
{
    struct cpu_set chosen = {0};
    uint32_t first, end;

    numa_share(nodes->count, index, count, &first, &end);
    CPU_ZERO_S(size, set);
    for (uint32_t node = first; node < end; node++) {
        cpu_set_add(&chosen, nodes->numbers[node]);
        for (uint32_t cpu = 0; cpu < NUMA_CPUS_MAX; cpu++)
            if (cpu_set_has(&nodes->cpus[node], cpu))
                CPU_SET_S(cpu, size, set);
    }
    if (sched_setaffinity(0, size, set) == 0)
        prefer_memory(&chosen);
}

static void bind_to_nodes(uint32_t index, uint32_t count)
{
    size_t size = CPU_ALLOC_SIZE(NUMA_CPUS_MAX);
    AUTO(mem) cpu_set_t *set = mem_alloc(size);
    AUTO(mem) struct nodes *nodes = NEW(struct nodes);
    struct cpu_set online, allowed;

    if (!read_allowed(set, size, &allowed) || !read_list(NODES_FOLDER "/online", &online))
        return;
    for (uint32_t number = 0; number < NUMA_CPUS_MAX; number++)
        if (cpu_set_has(&online, number))
            add_node(nodes, number, &allowed);
    if (nodes->count)
        take_share(nodes, index, count, set, size);
    mem_free(nodes->cpus);
}

static bool is_set(const char *name)
{
    const char *text = getenv(name);

    return text && strcmp(text, "1") == 0;
}

static void be_quiet(void)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (nowhere < 0)
        return;
    (void)dup2(nowhere, STDOUT_FILENO);
    (void)dup2(nowhere, STDERR_FILENO);
    (void)close(nowhere);
}

int main(int argc, char **argv)
{
    const char *index_text = getenv(POPDIST_ENV_LOCAL_INSTANCE_INDEX),
               *count_text = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    uint32_t index, count;

    if (argc < 2) {
        (void)fputs("poprun_numa_wrapper: a program is missing; poprun starts this, people do not\n", stderr);
        return EXIT_FAILURE;
    }
    if (!is_set(WRAPPER_ENV_UNBOUND) && parse_u32(count_text ? count_text : "", 1, NUMA_CPUS_MAX, &count) &&
        parse_u32(index_text ? index_text : "", 0, count - 1, &index))
        bind_to_nodes(index, count);
    if (is_set(WRAPPER_ENV_QUIET))
        be_quiet();
    (void)unsetenv(WRAPPER_ENV_UNBOUND);
    (void)unsetenv(WRAPPER_ENV_QUIET);
    (void)unsetenv("IPUOF_CONFIG_PATH");
    (void)execvp(argv[1], argv + 1);
    (void)fprintf(stderr, "poprun_numa_wrapper: %s cannot be started: %s\n", argv[1], strerror(errno));
    return errno == ENOENT ? 127 : 126;
}
