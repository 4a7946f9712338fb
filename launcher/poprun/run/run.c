#include "launcher/poprun/run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/core/mem.h"
#include "launcher/env/preload.h"
#include "launcher/env/workers.h"
#include "launcher/poprun/run/acquire.h"
#include "launcher/poprun/plan/rsh_agent.h"
#include "launcher/poprun/run/parent_device.h"
#include "launcher/poprun/host/host_cache.h"
#include "launcher/poprun/run/mpirun.h"
#include "launcher/poprun/run/host_check.h"
#include "launcher/poprun/run/rnic.h"
#include "launcher/poprun/log/run_messages.h"
#include "launcher/poprun/options/shell_words.h"
#include "launcher/process/executable.h"

enum { EXIT_OWN = 1 };

static uint32_t count_hosts(const struct run *run)
{
    return run->hosts->count ? (uint32_t)run->hosts->count : 1;
}

static struct topology topology_of(const struct run *run, const struct vipu_partition *partition)
{
    const struct poprun_options *options = run->options;
    uint64_t ipus = (uint64_t)options->num_replicas * options->ipus_per_replica;
    uint32_t ilds = partition ? partition->num_ilds : partition_ilds(options);
    uint64_t size = partition ? partition->size : ipus;

    return (struct topology){.num_replicas = options->num_replicas,
                             .num_instances = options->num_instances,
                             .ipus_per_replica = options->ipus_per_replica,
                             .ipus_per_ild = ilds ? (uint32_t)(size / ilds) : 0,
                             .local_name = run->local_name,
                             .hosts = run->hosts};
}

static const char *temporary_folder(const struct run *run)
{
    const char *folder = run->env("TMPDIR");

    return folder && *folder ? folder : "/tmp";
}

/* An unpredictable name. */
static bool name_cache(const struct run *run, struct err *err)
{
    uint64_t number;
    AUTO(mem) char *name = NULL;

    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        return err_errno(err, errno, "cannot get a random number for the name of the executable cache");
    name = mem_printf("%s/" HOST_CACHE_NAME "%016" PRIx64, temporary_folder(run), number);
    cleanup_note(run->left->cache_dir, sizeof(run->left->cache_dir), name);
    return true;
}

/* Locked until this process ends. */
static bool make_cache(const struct run *run, struct err *err)
{
    struct err cause;

    if (!host_cache_take(run->left->cache_dir, &run->left->cache_hold, &cause))
        return err_set(err, ERR_IO,
                       "cannot create a directory for the executable cache: %s; set TMPDIR to a writable "
                       "directory, or use --executable-cache-path",
                       cause.msg);
    return true;
}

/* The instances of a host share compiled executables by default. */
static bool choose_cache(const struct run *run, const char **ret, struct err *err)
{
    const char *asked = run->options->executable_cache_path;

    *ret = asked && *asked ? asked : NULL;
    if (asked || run->options->num_instances == 1 || run->options->dry_run)
        return true;
    host_cache_sweep(temporary_folder(run));
    if (!name_cache(run, err))
        return false;
    if (run->hosts->count) /* the instances create theirs */
        run->left->cache_hosts = count_hosts(run);
    else if (!make_cache(run, err))
        return false;
    *ret = run->left->cache_dir;
    return true;
}

static void show_topology(const struct run *run, const struct topology *topology)
{
    AUTO(str) struct str text = {0};

    if (!run->options->print_topology && !run->options->very_verbose && !run->options->dry_run)
        return;
    topology_print(topology, &text);
    run->print(str_text(&text));
}

/* The wrapper is installed beside poprun, whatever PATH contains; it is tried first. */
static void find_wrapper(const struct run *run, struct plan *plan)
{
    const char *path = run->env("PATH");
    AUTO(mem) char *folder = executable_dir();

    if (folder)
        strv_pushf(&plan->variables, "PATH=%s%s%s", path ? path : "", path && *path ? ":" : "", folder);
}

/* In a pod mpirun starts the instances through ipu-launch, which keeps their lines whole if mpirun reads them
 * from pipes. */
static void add_preload(const struct run *run, struct plan *plan)
{
    const char *agent = run->env("OMPI_MCA_orte_fork_agent");
    AUTO(mem) char *folder = executable_dir();
    AUTO(mem) char *ours = mem_printf("%s/ipu-launch rank ", folder ? folder : "");
    AUTO(envv) struct envv env = {0};
    char *inherited[] = {NULL, NULL};
    AUTO(mem) char *own = NULL;

    if (!agent || !str_has_prefix(agent, ours))
        return;
    if (run->env("LD_PRELOAD"))
        inherited[0] = own = mem_printf("LD_PRELOAD=%s", run->env("LD_PRELOAD"));
    envv_init(&env, inherited);
    preload_add(&env, folder);
    strv_push(&plan->variables, env.items[0]);
}

/* The caller frees it; NULL: any. */
static char *choose_network(const struct run *run)
{
    const char *asked = run->options->host_subnet;

    struct rnic_network network;

    if (asked)
        return run->hosts->count ? mem_strdup(asked) : NULL;
    if (!rnic_find_network(RNIC_FOLDER, run->run_log, &network) || !rnic_network_has(&network, run->hosts))
        return NULL;
    return rnic_network_text(&network);
}

/* `partition` is NULL in offline mode. */
static bool plan_with(const struct run *run, const struct vipu_partition *partition, struct plan *ret,
                      struct err *err)
{
    const struct poprun_options *options = run->options;
    const char *own_targets = run->env("POPLAR_TARGET_OPTIONS"), *cache_dir;
    struct topology topology = topology_of(run, partition);
    bool has_parent = partition && partition->reconfigurable;
    struct parent parent = {0};
    struct partition_view view = {run->access->endpoint.host, run->access->endpoint.port,
                                  options->vipu_server_timeout_s, partition};
    AUTO(mem) char *targets = NULL, *program = mpirun_program(run->mpirun), *network = NULL;

    show_topology(run, &topology);
    if (has_parent)
        parent = partition_parent(partition, options, count_hosts(run));
    if (has_parent && run->hosts->count == 0 && !options->dry_run &&
        !parent_device_acquire(partition, run->env, run->run_log, &parent, err))
        return false;
    if (!run_message_targets(run->run_log, own_targets, partition, has_parent ? &parent : NULL,
                             options->num_instances, &targets, err) ||
        !choose_cache(run, &cache_dir, err))
        return false;
    network = choose_network(run);
    run_message_network(run->run_log, &topology, network);
    struct plan_input input = {.options = options,
                               .program = run->program,
                               .topology = &topology,
                               .view = partition ? &view : NULL,
                               .parent = has_parent ? &parent : NULL,
                               .target_options = partition || own_targets ? targets : NULL,
                               .cache_dir = cache_dir,
                               .cache_per_host = run->left->cache_hosts > 0,
                               .network = network,
                               .mpirun = run->mpirun,
                               .program_is_missing =
                                   !mpirun_finds_program(run->env("PATH"), run->program->items[0]),
                               .has_app_file = plan_needs_app_file(run->program),
                               .dialect = mpi_dialect_of(program),
                               .env = run->env};
    if (!plan_make(&input, ret, err))
        return false;
    if (input.has_app_file || !mpirun_command_is_too_long(ret))
        return true;
    plan_release(ret);
    *ret = (struct plan){0};
    input.has_app_file = true;
    return plan_make(&input, ret, err);
}

/* Inside an allocation Slurm's own agent starts mpirun's part on other hosts. */
static bool check_hosts(const struct run *run, struct err *err)
{
    const struct strv *global = &run->options->mpi_global_args;
    AUTO(strv) struct strv words = {0}, agent = {0}, problems = {0};

    if (run->hosts->count == 0 || run->options->dry_run || run->env("SLURM_JOB_ID"))
        return true;
    for (size_t i = 0; i < global->count; i++)
        if (!shell_words_split(global->items[i], &words, err))
            return false;
    rsh_agent_choose(&words, run->env, &agent);
    /* In a launcher pod hosts are workers, whose names only the agent can resolve. */
    hosts_check_reachable(run->hosts, &agent, !run->env(WORKERS_ENV_HOSTS), &problems);
    for (size_t i = 0; i < problems.count; i++)
        run_log_write(run->run_log, RUN_LOG_ERROR, "%s", problems.items[i]);
    return problems.count == 0 ||
           err_set(err, ERR_IO, "%zu of %zu hosts cannot be reached; nothing was started", problems.count,
                   run->hosts->count);
}

static bool make_plan(const struct run *run, struct plan *ret, struct err *err)
{
    struct acquisition acquisition = {run->options,         run->access, run->env,
                                      run->run_log,         run->left,   count_hosts(run),
                                      run->options->dry_run};
    struct vipu_partition partition = {0};
    bool good;

    run_message_ilds(run->run_log, run->options);
    if (!check_hosts(run, err))
        return false;
    if (run->options->offline_mode)
        return plan_with(run, NULL, ret, err);
    if (!acquire_partition(&acquisition, &partition, err))
        return false;
    if (!run->options->remove_partition)
        run->left->partition[0] = '\0';
    good = plan_with(run, &partition, ret, err);
    vipu_partition_release(&partition);
    return good;
}

void run_clean_up(void *ctx)
{
    const struct run *run = ctx;

    cleanup_run(run->left, temporary_folder(run), &run->access->endpoint, run->options->vipu_server_timeout_s,
                run->run_log);
}

int run_perform(void *ctx)
{
    struct run *run = ctx;
    AUTO(plan) struct plan plan = {0};
    int status = EXIT_OWN;
    struct err err;
    bool good = make_plan(run, &plan, &err);

    if (good) {
        find_wrapper(run, &plan);
        add_preload(run, &plan);
        good = !plan.app_lines.count || mpirun_add_app_file(&plan, &err);
    }
    if (good) {
        run_message_command(run->run_log, &plan);
        good = mpirun_run(&plan, run->run_log, &run->left->mpirun, &status, &err);
    }
    if (!good)
        run_log_write(run->run_log, RUN_LOG_ERROR, "%s", err.msg);
    run_clean_up(run);
    return status;
}

bool run_describe(const struct run *run, struct err *err)
{
    AUTO(plan) struct plan plan = {0};
    AUTO(str) struct str text = {0};

    if (!make_plan(run, &plan, err))
        return false;
    plan_print(&plan, &text);
    run->print(str_text(&text));
    return true;
}
