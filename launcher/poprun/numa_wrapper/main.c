/* poprun_numa_wrapper PROGRAM [ARG]...: takes its instance's share of the host's NUMA nodes - CPUs bound,
 * memory preferred - and becomes the program. It never fails a launch for lack of what it cannot find out. */
#include "launcher/poprun/numa_wrapper/main.h"

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
#include "launcher/poprun/numa_wrapper/nodes.h"
#include "launcher/poprun/wrapper.h"
#include "popdist/contract.h"

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

static void prefer_memory(const struct cpu_set *chosen)
{
    /* Several preferred nodes need Linux 5.15; without it the kernel's own choice is good enough. */
    (void)syscall(SYS_set_mempolicy, MPOL_PREFERRED_MANY, chosen->bits, (unsigned long)NUMA_CPUS_MAX);
}

static void bind_to(const struct cpu_set *cpus, cpu_set_t *set, size_t size)
{
    CPU_ZERO_S(size, set);
    for (uint32_t cpu = 0; cpu < NUMA_CPUS_MAX; cpu++)
        if (cpu_set_has(cpus, cpu))
            CPU_SET_S(cpu, size, set);
}

static void take_share(uint32_t index, uint32_t count)
{
    size_t size = CPU_ALLOC_SIZE(NUMA_CPUS_MAX);
    AUTO(mem) cpu_set_t *set = mem_alloc(size);
    AUTO(nodes) struct nodes nodes = {0};
    struct cpu_set allowed, cpus, memory;

    if (!read_allowed(set, size, &allowed))
        return;
    nodes_read(NODES_FOLDER, &allowed, &nodes);
    if (!nodes.count)
        return;
    numa_place(nodes.items, nodes.count, index, count, &cpus, &memory);
    bind_to(&cpus, set, size);
    if (sched_setaffinity(0, size, set) == 0)
        prefer_memory(&memory);
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

int poprun_numa_wrapper_main(int argc, char **argv)
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
        take_share(index, count);
    if (is_set(WRAPPER_ENV_QUIET))
        be_quiet();
    (void)unsetenv(WRAPPER_ENV_UNBOUND);
    (void)unsetenv(WRAPPER_ENV_QUIET);
    (void)unsetenv("IPUOF_CONFIG_PATH");
    (void)execvp(argv[1], argv + 1);
    (void)fprintf(stderr, "poprun_numa_wrapper: %s cannot be started: %s\n", argv[1], strerror(errno));
    return errno == ENOENT ? 127 : 126;
}
