/* poprun_numa_wrapper [PROGRAM [ARG]...]: takes its instance's share of the host's NUMA nodes (binds CPUs,
 * prefers their memory) and executes the program. On another host than poprun's it starts watchers first. It
 * never fails a launch because something could not be determined. */
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
#include "launcher/poprun/host/host_cache.h"
#include "launcher/poprun/numa_wrapper/nodes.h"
#include "launcher/poprun/host/host_cleanup.h"
#include "launcher/poprun/host/wrapper_env.h"
#include "launcher/poprun/plan/word_list.h"
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

static void unset(const char *names)
{
    AUTO(mem) char *copy = mem_strdup(names ? names : "");

    for (char *rest = NULL, *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        (void)unsetenv(name);
}

/* Without the cache the program compiles for itself, which is slow but correct. */
static void make_cache(struct host_cleanup *cleanup)
{
    const char *path = getenv(POPDIST_ENV_EXECUTABLE_CACHE_PATH);
    struct err err;

    if (!is_set(WRAPPER_ENV_CACHE) || !path)
        return;
    if (host_cache_take(path, &cleanup->cache_hold, &err)) {
        cleanup->cache_dir = path;
        return;
    }
    (void)fprintf(stderr, "poprun_numa_wrapper: cannot use an executable cache on this host: %s\n", err.msg);
    (void)unsetenv(POPDIST_ENV_EXECUTABLE_CACHE_PATH);
}

static void leave_watchers(void)
{
    struct host_cleanup cleanup = {.cache_hold = -1, .session_dir = getenv("PMIX_SERVER_TMPDIR")};
    struct err err;

    if (!is_set(WRAPPER_ENV_WATCH))
        return;
    make_cache(&cleanup);
    if (host_cleanup_start(&cleanup, &err))
        return;
    (void)fprintf(stderr, "poprun_numa_wrapper: cannot remove the files of this run on this host: %s\n",
                  err.msg);
    if (cleanup.cache_dir)
        host_cache_leave(cleanup.cache_dir, cleanup.cache_hold);
    if (cleanup.cache_dir)
        (void)unsetenv(POPDIST_ENV_EXECUTABLE_CACHE_PATH);
}

static void set_shared_variables(void)
{
    const char *list = getenv(WRAPPER_ENV_SHARED);
    AUTO(strv) struct strv settings = {0};

    word_list_read(list ? list : "", &settings);
    for (size_t i = 0; i < settings.count; i++) {
        char *value = strchr(settings.items[i], '=');

        if (!value)
            continue;
        *value = '\0';
        (void)setenv(settings.items[i], value + 1, 1);
    }
}

/* From the arguments, or from a variable if there are none. */
static void read_program(char **arguments, struct strv *ret)
{
    const char *list = getenv(WRAPPER_ENV_PROGRAM);

    if (!*arguments && list)
        word_list_read(list, ret);
    for (; *arguments; arguments++)
        strv_push(ret, *arguments);
}

static void clear_environment(void)
{
    static const char *const own[] = {WRAPPER_ENV_UNBOUND, WRAPPER_ENV_QUIET,  WRAPPER_ENV_WATCH,
                                      WRAPPER_ENV_CACHE,   WRAPPER_ENV_DROP,   WRAPPER_ENV_SHARED,
                                      WRAPPER_ENV_PROGRAM, "IPUOF_CONFIG_PATH"};

    unset(getenv(WRAPPER_ENV_DROP));
    for (size_t i = 0; i < COUNT_OF(own); i++)
        (void)unsetenv(own[i]);
}

static bool find_share(uint32_t *ret_index, uint32_t *ret_count)
{
    const char *index = getenv(POPDIST_ENV_LOCAL_INSTANCE_INDEX),
               *count = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");

    return !is_set(WRAPPER_ENV_UNBOUND) && parse_u32(count ? count : "", 1, NUMA_CPUS_MAX, ret_count) &&
           parse_u32(index ? index : "", 0, *ret_count - 1, ret_index);
}

int poprun_numa_wrapper_main(int argc, char **argv)
{
    AUTO(strv) struct strv program = {0};
    uint32_t index, count;

    read_program(argc ? argv + 1 : argv, &program);
    if (!program.count) {
        (void)fputs("poprun_numa_wrapper: missing program argument (this helper is run by poprun)\n", stderr);
        return EXIT_FAILURE;
    }
    set_shared_variables();
    if (find_share(&index, &count))
        take_share(index, count);
    leave_watchers();
    if (is_set(WRAPPER_ENV_QUIET))
        be_quiet();
    clear_environment();
    (void)execvp(program.items[0], strv_argv(&program));
    (void)fprintf(stderr, "poprun_numa_wrapper: cannot start %s: %s\n", program.items[0], strerror(errno));
    return errno == ENOENT ? 127 : 126;
}
