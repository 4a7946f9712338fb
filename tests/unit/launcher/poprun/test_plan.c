#include "launcher/poprun/plan/plan.h"

#include <string.h>

#include "base/core/mem.h"
#include "launcher/poprun/log/run_messages.h"
#include "launcher/poprun/options/shell_words.h"
#include "lib/check.h"
#include "lib/golden.h"

#define WORDS 20

static const char *no_variable(const char *name)
{
    (void)name;
    return NULL;
}

/* A run that is only planned: what it is made from, and what comes out. */
struct run {
    const char *words[WORDS];
    const char *(*env)(const char *name);
    const char *mpirun, *program, *cache_dir, *hosts, *local_name, *network;
    bool cache_per_host, program_is_missing, has_app_file;
    const struct partition_view *view;
};

struct outcome {
    struct plan plan;
    struct str log, table;
};

static void outcome_release(struct outcome *outcome)
{
    plan_release(&outcome->plan);
    str_release(&outcome->log);
    str_release(&outcome->table);
}

static void outcome_auto(struct outcome *outcome)
{
    outcome_release(outcome);
}

static void put(void *ctx, enum run_log_level level, const char *text)
{
    static const struct run_log_stamp stamp = {10, 10, 50, 154, 1};

    run_log_line(&stamp, level, text, ctx);
}

static void read_options(const struct run *run, struct poprun_options *options, struct settings *settings)
{
    AUTO(strv) struct strv words = {0}, problems = {0};

    strv_push(&words, "poprun");
    for (size_t i = 0; i < WORDS && run->words[i]; i++)
        strv_push(&words, run->words[i]);
    settings_read_words(settings, (int)words.count, strv_argv(&words), &problems);
    poprun_options_fill(settings, options, &problems);
    poprun_options_check(options, &settings->program, run->env, &problems);
    CHECK_STR_EQ(problems.count ? problems.items[0] : NULL, NULL);
}

static void perform(const struct run *run, struct outcome *ret)
{
    AUTO(settings) struct settings settings = {0};
    AUTO(poprun_options) struct poprun_options options = {0};
    AUTO(strv) struct strv hosts = {0};
    AUTO(mem) char *targets = NULL;
    const struct vipu_partition *partition = run->view ? run->view->partition : NULL;
    struct run_log run_log = {RUN_LOG_DEBUG, put, &ret->log};
    struct parent parent = {0};
    struct err err;

    read_options(run, &options, &settings);
    if (run->hosts)
        CHECK_OK(shell_words_split(run->hosts, &hosts, &err), err);
    struct topology topology = {
        options.num_replicas, options.num_instances, options.ipus_per_replica, 0, run->local_name, &hosts};
    bool has_parent = partition && partition->reconfigurable;
    if (has_parent)
        parent = partition_parent(partition, &options, hosts.count ? (uint32_t)hosts.count : 1);
    if (partition)
        run_message_partition(&run_log, partition);
    topology_print(&topology, &ret->table);
    CHECK_OK(run_message_targets(&run_log, run->env("POPLAR_TARGET_OPTIONS"), partition,
                                 has_parent ? &parent : NULL, options.num_instances, &targets, &err),
             err);
    const char *network = options.host_subnet && hosts.count ? options.host_subnet : run->network;
    run_message_network(&run_log, &topology, network);
    struct plan_input input = {.options = &options,
                               .program = &settings.program,
                               .topology = &topology,
                               .view = run->view,
                               .parent = has_parent ? &parent : NULL,
                               .target_options = run->view ? targets : NULL,
                               .cache_dir = run->cache_dir,
                               .cache_per_host = run->cache_per_host,
                               .network = network,
                               .mpirun = run->mpirun,
                               .program_is_missing = run->program_is_missing,
                               .has_app_file = run->has_app_file,
                               .dialect = mpi_dialect_of(run->program),
                               .env = run->env};
    CHECK_OK(plan_make(&input, &ret->plan, &err), err);
    run_message_command(&run_log, &ret->plan);
    run_message_waiting(&run_log, 42);
}

/* "bert-poprun-64ipus" as EIDF prints it: a job in Kubernetes, without any option for V-IPU. On record:
 * words of --mpi-global-args stand before poprun's own; --allow-run-as-root reaches mpirun without being
 * asked for; IPUOF_VIPU_API_HOST, _PORT, _PARTITION_ID and _TIMEOUT are set on line; PATH,
 * LD_LIBRARY_PATH and PYTHONPATH are forwarded by name; POPLAR_TARGET_OPTIONS is set on line; the command
 * is printed on one line, its path bare and every other word in single quotes; words that are there twice
 * stay, as --tag-output; The reconfigurable partition X is OK, or Done polling, final state of X:
 * PS_ACTIVE; mpirun refuses to start as root without an option or two variables. */
TEST(the_recorded_job_in_kubernetes_comes_out_byte_for_byte)
{
    static char id[] = "p-bert-poprun-64ipus-gc-dev-0";
    static const struct vipu_partition partition = {.id = id,
                                                    .size = 64,
                                                    .num_gcds = 1,
                                                    .num_ilds = 1,
                                                    .ready_state = VIPU_READY_ACTIVE,
                                                    .routing = VIPU_ROUTING_RINGSWNC};
    static const struct partition_view view = {"10.21.21.129", 8090, 120, &partition};
    static const struct run run = {
        .words = {"--allow-run-as-root", "1", "--vv", "--num-instances", "1", "--num-replicas", "16",
                  "--mpi-global-args=--tag-output", "--ipus-per-replica", "4", "python3",
                  "run_pretraining.py", "--config", "pretrain_large_128_POD64", "--dataset", "generated",
                  "--training-steps", "1"},
        .env = no_variable,
        .mpirun = "/opt/poplar/bin/mpirun",
        .program = "orterun",
        .view = &view,
    };
    AUTO(outcome) struct outcome outcome = {0};

    perform(&run, &outcome);
    golden_check("poprun/recorded-bert.txt", str_text(&outcome.log));
    golden_check("poprun/table-1x16.txt", str_text(&outcome.table));
}

static char p64[] = "p64";
static const struct vipu_partition reconfigurable = {.id = p64,
                                                     .size = 64,
                                                     .num_gcds = 1,
                                                     .num_ilds = 1,
                                                     .reconfigurable = true,
                                                     .ready_state = VIPU_READY_ACTIVE,
                                                     .routing = VIPU_ROUTING_SWNC};
static const struct partition_view view64 = {"10.1.3.101", 8090, 120, &reconfigurable};

static char p4[] = "slurm_7";
static const struct vipu_partition small = {.id = p4,
                                            .size = 4,
                                            .num_gcds = 1,
                                            .num_ilds = 1,
                                            .reconfigurable = true,
                                            .ready_state = VIPU_READY_ACTIVE,
                                            .routing = VIPU_ROUTING_DNC};
static const struct partition_view view4 = {"10.1.3.101", 8090, 120, &small};

/* CosmicTagger with 1, 2 and 16 instances, and ALCF's in a Slurm job. */
static const struct {
    const char *log, *table;
    struct run run;
} recorded[] = {
    {"poprun/recorded-one.txt",
     "poprun/table-1x1.txt",
     {.words = {"-vv", "--num-replicas=1", "--num-instances=1", "python", "bin/exec.py"}, .view = &view64}},
    {"poprun/recorded-two.txt",
     "poprun/table-2x2.txt",
     {.words = {"-vv", "--num-replicas=2", "--num-instances=2", "python", "bin/exec.py"},
      .cache_dir = "/tmp/poprun-cache",
      .view = &view64}},
    {"poprun/recorded-sixteen.txt",
     "poprun/table-16x16.txt",
     {.words = {"-vv", "--num-replicas=16", "--num-instances=16", "python", "bin/exec.py"},
      .cache_dir = "/tmp/poprun-cache",
      .view = &view64}},
    {"poprun/recorded-slurm.txt",
     "poprun/table-1x4.txt",
     {.words = {"-vv", "--vipu-partition=slurm_7", "--num-instances=1", "--num-replicas=4",
                "--executable-cache-path=/c", "--ipus-per-replica=1", "python", "a.py"},
      .cache_dir = "/c",
      .view = &view4,
      .local_name = "gc-poplar-02"}},
};

/* On record: in a reconfigurable partition poprun finds a parent device for all IPUs, looks for its
 * children when there are several instances, prepares it and passes its id on; the variables are in the
 * recorded order; mpirun has one app context of -np 1 for each instance, after the words that are for
 * all; Found n devices with s IPUs, and Attached to device d; Found k children (expected k) of device d
 * with c IPUs each, with several instances only; Device d ipuLinkDomainSize=64,
 * ipuLinkConfiguration=Default, ipuLinkTopology=Mesh, gatewayMode=true, instanceSize=1. */
TEST(a_reconfigurable_partition_has_a_parent_device_and_a_wrapper)
{
    CHECK_ROWS (row, recorded) {
        struct run run = row->run;
        AUTO(outcome) struct outcome outcome = {0};

        run.env = no_variable;
        run.mpirun = "/opt/poplar/bin/mpirun";
        run.program = "orterun";
        perform(&run, &outcome);
        golden_check(row->log, str_text(&outcome.log));
        golden_check(row->table, str_text(&outcome.table));
    }
}

static void command(const struct run *run, struct str *out)
{
    AUTO(outcome) struct outcome outcome = {0};

    perform(run, &outcome);
    shell_words_join_quoted(&outcome.plan.argv, out);
}

static const char *loud(const char *name)
{
    static const struct {
        const char *name, *value;
    } variables[] = {{"IPUOF_LOG_LEVEL", "DEBUG"},
                     {"POPLAR_ENGINE_OPTIONS", "{}"},
                     {"PYTHONPATH", "/a"},
                     {"LD_LIBRARY_PATH", ""},
                     {"OMPI_MCA_rmaps_base_oversubscribe", "0"},
                     {"OMPI_MCA_btl_tcp_if_include", "lo"}};

    for (size_t i = 0; i < COUNT_OF(variables); i++)
        if (strcmp(variables[i].name, name) == 0)
            return variables[i].value;
    return NULL;
}

/* What a command line must have, or must not have, in it. */
static const struct {
    struct run run;
    const char *has, *lacks;
} commands[] = {
    {{.words = {"--offline-mode=on", "echo"}, .env = no_variable},
     "'--bind-to' 'none' '--tag-output'",
     "IPUOF_VIPU"},
    {{.words = {"--offline-mode=on", "echo"}, .env = no_variable},
     "'-x' 'PYTHONPATH' 'echo'",
     "POPLAR_TARGET_OPTIONS"},
    {{.words = {"--allow-run-as-root=no", "a"}, .env = no_variable}, "'--tag-output' '-np'", "root"},
    {{.words = {"--num-replicas=2", "--num-instances=2", "a"}, .env = no_variable},
     "'poprun_numa_wrapper' 'a' ':' '-np' '1' '-x' 'POPDIST_NUM_TOTAL_REPLICAS=2'",
     "UNBOUND"},
    {{.words = {"--num-replicas=2", "--num-instances=2", "--process-placement=disabled", "a"},
      .env = no_variable},
     "mpirun '--tag-output'",
     "numa_wrapper"},
    {{.words = {"--numa-aware=no", "a"}, .env = no_variable}, "mpirun '--tag-output'", "bind-to"},
    {{.words = {"--process-placement=close", "a"}, .env = no_variable},
     "'--map-by' 'core' '--bind-to' 'core:overload-allowed'",
     "none"},
    {{.words = {"--process-placement=scattersocket", "a"}, .env = no_variable},
     "'--map-by' 'socket' '--bind-to'",
     "none"},
    {{.words = {"--process-placement=scatternuma", "a"}, .env = no_variable},
     "'--map-by' 'numa' '--bind-to'",
     "none"},
    {{.words = {"--process-placement=scatternuma", "a"}, .env = no_variable, .program = "mpirun"},
     "'--map-by' 'numa:oversubscribe' '--bind-to'",
     "none"},
    {{.words = {"--num-replicas=2", "--num-instances=2", "--only-output-from-instance=1", "a"},
      .env = no_variable},
     "'POPRUN_WRAPPER_QUIET=0' 'poprun_numa_wrapper' 'a'",
     "UNBOUND"},
    {{.words = {"--mpi-global-args=--bind-to socket", "a"}, .env = no_variable},
     "'--bind-to' 'socket' '--bind-to' 'none'",
     "map-by"},
    {{.words = {"--mpi-global-args=--bind-to socket", "a"}, .env = no_variable, .program = "prterun"},
     "'--bind-to' 'socket' '--tag-output'",
     "none"},
    {{.words = {"--mpi-global-args=-map-by=numa", "--process-placement=close", "a"},
      .env = no_variable,
      .program = "prterun"},
     "'-map-by=numa' '--bind-to' 'core:overload-allowed'",
     "slot"},
    {{.words = {"--process-placement=close", "a"}, .env = no_variable, .program = "prterun"},
     "'--map-by' 'slot:oversubscribe' '--bind-to' 'core:overload-allowed'",
     "none"},
    {{.words = {"--mpi-local-args=-x PATH=/z", "a"}, .env = no_variable},
     "'LD_LIBRARY_PATH' '-x' 'PYTHONPATH' '-x' 'PATH=/z' 'a'",
     "'PATH' "},
    {{.words = {"--num-replicas=2", "--num-instances=2", "--instance-mpi-local-args=1:-x B=2", "a"},
      .env = no_variable},
     "'PYTHONPATH' '-x' 'B=2' 'poprun_numa_wrapper'",
     "'B=2' 'poprun_numa_wrapper' 'a' ':'"},
    {{.words = {"--num-replicas=2", "--num-instances=2", "--only-output-from-instance=1", "a"},
      .env = no_variable},
     "'POPRUN_WRAPPER_QUIET=1' 'poprun_numa_wrapper' 'a' ':'",
     "UNBOUND"},
    {{.words = {"--num-replicas=4", "--num-instances=2", "--host-subnet=10.5.0.0/16", "a"},
      no_variable,
      .hosts = "h0 h1"},
     "'--mca' 'oob_tcp_if_include' '10.5.0.0/16' '--mca' 'btl_tcp_if_include' '10.5.0.0/16' '-np' '1' "
     "'--host' 'h0'",
     "'POPDIST_LOCAL_INSTANCE_INDEX=1'"},
    {{.words = {"--host-subnet=10.5.0.0/16", "a"}, .env = no_variable}, "'a'", "10.5"},
    {{.words = {"a"}, .env = no_variable, .network = "10.6.0.0/16"}, "'a'", "10.6"},
    {{.words = {"a"}, .env = no_variable, .network = "10.6.0.0/16", .hosts = "h0"},
     "'--mca' 'oob_tcp_if_include' '10.6.0.0/16' '--mca' 'btl_tcp_if_include' '10.6.0.0/16' '-np'",
     "None"},
    {{.words = {"--mpi-global-args=--mca btl_tcp_if_exclude lo", "a"},
      .env = no_variable,
      .network = "10.6.0.0/16",
      .hosts = "h0"},
     "'btl_tcp_if_exclude' 'lo' '--bind-to'",
     "10.6"},
    {{.words = {"a"}, .env = loud, .network = "10.6.0.0/16", .hosts = "h0"}, "'a'", "10.6"},
    {{.words = {"--host-subnet=10.5.0.0/16", "a"}, .env = loud, .hosts = "h0"}, "'10.5.0.0/16'", "10.6"},
    {{.words = {"--autoreport-dir=/r", "a"}, .env = no_variable},
     "'POPDIST_AUTOREPORT_DIRECTORY=/r' '-x' 'POPDIST_REPLICA_INDEX_OFFSET=0'",
     "CACHE"},
    {{.words = {"a"}, .env = loud}, "'IPUOF_LOG_LEVEL=DEBUG'", "WARN"},
    {{.words = {"a"}, .env = loud}, "'-x' 'POPLAR_ENGINE_OPTIONS' 'a'", "POPLAR_ENGINE_OPTIONS="},
    {{.words = {"a", "it's", "--vv", ":x"}, .env = no_variable}, "'a' 'it'\\''s' '--vv' ':x'", "' ':' '"},
};

/* On record: poprun_numa_wrapper stands before the program of several instances, and not before a single
 * one's; --mca oob_tcp_if_include and btl_tcp_if_include choose the networks of control and data;
 * spreadnuma is --bind-to none and the wrapper, which a single instance lacks. */
TEST(options_are_in_the_command)
{
    CHECK_ROWS (row, commands) {
        struct run run = row->run;
        AUTO(str) struct str text = {0};

        run.mpirun = "mpirun";
        run.program = run.program ? run.program : "orterun";
        command(&run, &text);
        CHECK_HAS(str_text(&text), row->has);
        CHECK(strstr(str_text(&text), row->lacks) == NULL);
    }
}

/* Which CPUs an instance gets is up to mpirun's words and to the wrapper before the program. On record:
 * placement disabled leaves --bind-to and --map-by to the user;  scattersocket and scatternuma bind an
 * instance to a core, spread over sockets or NUMA nodes; close binds instances to consecutive cores; test
 * suites run with
 * --process-placement=disabled, older ones with --numa-aware=no. */
TEST(each_placement_has_its_words)
{
    static const char *const words[] = {"--process-placement=spreadnuma",
                                        "--process-placement=scattersocket",
                                        "--process-placement=scatternuma",
                                        "--process-placement=close",
                                        "--process-placement=disabled",
                                        "--mpi-global-args=--map-by node",
                                        "--numa-aware=yes",
                                        "--numa-aware=no"};
    static const char *const programs[] = {"orterun", "mpirun"}; /* Open MPI 4 and 5 */
    AUTO(str) struct str text = {0};

    CHECK_ROWS (program, programs)
        CHECK_ROWS (word, words) {
            struct run run = {.words = {"--num-replicas=2", "--num-instances=2", *word, "a"},
                              .env = no_variable,
                              .mpirun = "mpirun",
                              .program = *program};

            (void)str_addf(&text, "%s %s\n  ", *program, *word);
            command(&run, &text);
            (void)str_addc(&text, '\n');
        }
    golden_check("poprun/placements.txt", str_text(&text));
}

/* Shapes that scripts, benchmark files and tests of others have, and what of them must be in the command. */
static const struct {
    struct run run;
    const char *has[4];
} shapes[] = {
    {{.words = {"--num-instances=8", "--num-replicas=16", "python3", "train.py", "--epochs", "1"}},
     {"'POPDIST_REPLICA_INDEX_OFFSET=14'", "'poprun_numa_wrapper' 'python3' 'train.py' '--epochs' '1'"}},
    {{.words = {"-vv", "--num-instances=2", "--num-replicas=4", "--remove-partition=no",
                "--reset-partition=no", "--update-partition=yes",
                "--mpi-local-args=\n -x A=1\n -x OPAL_PREFIX=/b", "python3", "a"}},
     {"'-x' 'A=1' '-x' 'OPAL_PREFIX=/b' 'poprun_numa_wrapper' 'python3' 'a' ':'"}},
    {{.words = {"--host", "a,b", "--num-instances", "2", "--num-replicas", "2", "--vipu-partition", "P",
                "--vipu-allocation", "A", "--vipu-server-timeout", "3600", "--update-partition=yes",
                "--mpi-global-args=--mca oob_tcp_if_include 10.0.0.0/16 --mca btl_tcp_if_include 10.0.0.0/16",
                "python3", "a"},
      .hosts = "a b"},
     {"mpirun '--mca' 'oob_tcp_if_include' '10.0.0.0/16' '--mca' 'btl_tcp_if_include' '10.0.0.0/16' "
      "'--bind-to' 'none'",
      "'--host' 'b'"}},
    {{.words = {"--offline-mode=on", "--num-instances", "2", "--num-replicas", "4",
                "--mpi-global-args=--allow-run-as-root", "python3", "t.py"}},
     {"mpirun '--allow-run-as-root' '--bind-to' 'none' '--tag-output' '--allow-run-as-root' '-np'"}},
    {{.words = {"--process-placement=disabled", "--mpi-global-args=--tag-output",
                "--mpi-global-args=--allow-run-as-root", "a"}},
     {"mpirun '--tag-output' '--allow-run-as-root' '--tag-output' '--allow-run-as-root' '-np'"}},
    {{.words = {"-vv", "--vipu-partition=slurm_7", "--num-instances=1", "--num-replicas=4",
                "--vipu-server-host=h", "--vipu-server-port", "8090",
                "--executable-cache-path=", "--ipus-per-replica=1", "python", "a.py"}},
     {"'POPDIST_NUM_TOTAL_REPLICAS=4'", "'python' 'a.py'"}},
    {{.words = {"--allow-run-as-root", "1", "--vv", "--num-instances", "1", "--num-replicas", "16",
                "--ipus-per-replica", "4", "python3", "a"}},
     {"'POPDIST_NUM_IPUS_PER_REPLICA=4'"}},
    {{.words = {"-v", "--num-instance", "1", "--vipu-cluster=c", "--sync-type=ST_POD_NATIVE_DEFAULT",
                "--num-ilds=1", "--only-output-from-instance=0", "--print-topology=yes", "--numa-aware=1",
                "--host-subnet=10.5.0.0/16", "--instance-mpi-local-args=0:-x B=2", "--reset-partition", "on",
                "a"}},
     {"'B=2'"}},
    {{.words =
          {"--mpi-global-args=--output-filename log --npernode 2 --bind-to socket",
           "--mpi-local-args=-x PATH -x LD_LIBRARY_PATH -x PYTHONPATH -x IPUOF_VIPU_API_TIMEOUT=300 -x CPATH "
           "-x POPLAR_LOG_LEVEL=INFO -x TF_POPLAR_FLAGS=--executable_cache_path=/c",
           "a"}},
     {"mpirun '--output-filename' 'log' '--npernode' '2' '--bind-to' 'socket' '--bind-to' 'none'",
      "'-x' 'PATH' '-x' 'LD_LIBRARY_PATH' '-x' 'PYTHONPATH' '-x' 'IPUOF_VIPU_API_TIMEOUT=300' '-x' 'CPATH'",
      "'TF_POPLAR_FLAGS=--executable_cache_path=/c' 'a'"}},
};

/* On record: every option that public commands use is known; -x with one of twenty names, and --mca,
 * --tag-output, --bind-to, --output-filename and --npernode are what goes to mpirun; seven shapes of
 * commands are typical. */
TEST(commands_as_people_write_them_are_taken)
{
    CHECK_ROWS (row, shapes) {
        struct run run = row->run;
        AUTO(str) struct str text = {0};

        run.env = no_variable;
        run.mpirun = "mpirun";
        run.program = "orterun";
        command(&run, &text);
        for (size_t i = 0; i < COUNT_OF(row->has) && row->has[i]; i++)
            CHECK_HAS(str_text(&text), row->has[i]);
    }
}

TEST(each_host_has_a_parent_device_of_its_own)
{
    static const struct run run = {
        .words = {"--num-replicas=8", "--num-instances=4", "a"},
        .env = no_variable,
        .mpirun = "mpirun",
        .program = "orterun",
        .hosts = "h0 h1",
        .view = &view64,
    };
    AUTO(str) struct str text = {0};

    command(&run, &text);
    CHECK_HAS(str_text(&text), "'--host' 'h0' '-x' 'POPDIST_NUM_TOTAL_REPLICAS=8'");
    CHECK_HAS(str_text(&text), "'POPDIST_NODE_DEVICE_ID=96' '-x' 'POPDIST_REPLICA_INDEX_OFFSET=2' '-x' "
                               "'POPDIST_LOCAL_INSTANCE_INDEX=1'");
    CHECK_HAS(str_text(&text), "'POPDIST_NODE_DEVICE_ID=97' '-x' 'POPDIST_REPLICA_INDEX_OFFSET=4' '-x' "
                               "'POPDIST_LOCAL_INSTANCE_INDEX=0'");
}

TEST(each_host_has_an_executable_cache_of_its_own)
{
    static const struct run run = {
        .words = {"--num-replicas=4", "--num-instances=4", "a"},
        .env = no_variable,
        .mpirun = "mpirun",
        .program = "orterun",
        .hosts = "h0 h1",
        .cache_dir = "/tmp/cache",
        .cache_per_host = true,
    };
    AUTO(str) struct str text = {0};

    command(&run, &text);
    CHECK_HAS(str_text(&text),
              "'POPDIST_EXECUTABLE_CACHE_PATH=/tmp/cache-0' '-x' 'POPDIST_REPLICA_INDEX_OFFSET=1'");
    CHECK_HAS(str_text(&text),
              "'POPDIST_EXECUTABLE_CACHE_PATH=/tmp/cache-1' '-x' 'POPDIST_REPLICA_INDEX_OFFSET=2'");
    CHECK_HAS(str_text(&text),
              "'POPRUN_WRAPPER_WATCH=1' '-x' 'POPRUN_WRAPPER_CACHE=1' 'poprun_numa_wrapper'");
}

TEST(what_a_host_sets_itself_is_dropped_there_unless_the_run_sets_it)
{
    static const struct run
        bare = {.words = {"a"}, .env = no_variable, .mpirun = "m", .program = "orterun", .hosts = "h"},
        given = {.words = {"--autoreport-dir=/r", "--mpi-local-args=-x POPDIST_NODE_DEVICE_ID=7", "a"},
                 .env = no_variable,
                 .mpirun = "m",
                 .program = "orterun",
                 .hosts = "h",
                 .cache_dir = "/c"};
    AUTO(str) struct str first = {0}, second = {0};

    command(&bare, &first);
    CHECK_HAS(str_text(&first),
              "'POPRUN_WRAPPER_DROP=POPDIST_NODE_DEVICE_ID,POPDIST_EXECUTABLE_CACHE_PATH,"
              "POPDIST_AUTOREPORT_DIRECTORY' '-x' 'POPRUN_WRAPPER_WATCH=1' 'poprun_numa_wrapper'");
    command(&given, &second);
    CHECK(strstr(str_text(&second), "POPRUN_WRAPPER_DROP") == NULL);
    CHECK(strstr(str_text(&second), "POPRUN_WRAPPER_CACHE") == NULL);
}

static const char *with_agent(const char *name)
{
    return strcmp(name, "OMPI_MCA_plm_rsh_agent") == 0 ? "rsh -x" : NULL;
}

TEST(the_agent_is_set_by_the_parameter_that_this_mpirun_knows)
{
    static const struct run
        four = {.words = {"a"}, .env = with_agent, .mpirun = "m", .program = "orterun", .hosts = "h"},
        five = {.words = {"a"}, .env = with_agent, .mpirun = "m", .program = "mpirun", .hosts = "h"},
        here = {.words = {"a"}, .env = with_agent, .mpirun = "m", .program = "mpirun"};
    AUTO(outcome) struct outcome first = {0}, second = {0}, third = {0};

    perform(&four, &first);
    CHECK(!strv_has(&first.plan.variables, "OMPI_MCA_plm_rsh_agent=rsh -x"));
    perform(&five, &second);
    CHECK(strv_has(&second.plan.variables, "PRTE_MCA_plm_ssh_agent=rsh -x"));
    perform(&here, &third);
    CHECK(!strv_has(&third.plan.variables, "PRTE_MCA_plm_ssh_agent=rsh -x"));
}

TEST(mpirun_learns_by_its_environment_that_cpus_may_be_shared)
{
    static const struct run plain = {.words = {"a"}, .env = no_variable, .mpirun = "m", .program = "orterun"},
                            decided = {.words = {"a"}, .env = loud, .mpirun = "m", .program = "orterun"};
    AUTO(outcome) struct outcome first = {0}, second = {0};

    perform(&plain, &first);
    CHECK(strv_has(&first.plan.variables, "OMPI_MCA_rmaps_base_oversubscribe=1"));
    CHECK(strv_has(&first.plan.variables, "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe"));
    CHECK(strv_has(&first.plan.variables, "PYTHONPATH="));
    perform(&decided, &second);
    CHECK(!strv_has(&second.plan.variables, "OMPI_MCA_rmaps_base_oversubscribe=1"));
    CHECK(!strv_has(&second.plan.variables, "PYTHONPATH="));
}

TEST(one_host_needs_no_remote_agent)
{
    static const struct {
        struct run run;
        bool is_excused;
    } rows[] = {
        {{.words = {"a"}, .env = no_variable, .mpirun = "m", .program = "orterun"}, true},
        {{.words = {"a"}, .env = with_agent, .mpirun = "m", .program = "orterun"}, false},
        {{.words = {"a"}, .env = no_variable, .mpirun = "m", .program = "prterun"}, false},
        {{.words = {"--host=h0,h1", "--num-instances=2", "--num-replicas=2", "a"},
          .env = no_variable,
          .hosts = "h0 h1",
          .mpirun = "m",
          .program = "orterun"},
         false},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO(outcome) struct outcome outcome = {0};

        perform(&rows[i].run, &outcome);
        CHECK(strv_has(&outcome.plan.variables, "OMPI_MCA_plm_rsh_agent=ssh : rsh : false") ==
              rows[i].is_excused);
    }
}

TEST(variables_of_a_run_around_this_one_are_dropped)
{
    CHECK(plan_excludes_variable("POPDIST_NUM_TOTAL_REPLICAS=4"));
    CHECK(plan_excludes_variable("IPUOF_CONFIG_PATH=/x"));
    CHECK(!plan_excludes_variable("IPUOF_CONFIG_PATHS=/x"));
    CHECK(!plan_excludes_variable("PATH=/bin"));
}

static const char *own_sessions(const char *name)
{
    return strcmp(name, "OMPI_MCA_orte_leave_session_attached") == 0 ? "0" : NULL;
}

/* One that ended before it had called back would be awaited forever; each needs an agent then. */
TEST(daemons_on_other_hosts_stay_with_their_agents)
{
    static const struct run
        few = {.words = {"a"}, .env = no_variable, .mpirun = "m", .program = "orterun", .hosts = "h"},
        own = {.words = {"a"}, .env = own_sessions, .mpirun = "m", .program = "orterun", .hosts = "h"},
        here = {.words = {"a"}, .env = no_variable, .mpirun = "m", .program = "orterun"};
    AUTO(outcome) struct outcome first = {0}, second = {0}, third = {0}, fourth = {0};
    AUTO(str) struct str hosts = {0};

    for (int i = 0; i < 130; i++)
        (void)str_addf(&hosts, "h%d ", i);
    perform(&(struct run){.words = {"--num-replicas=130", "--num-instances=130", "a"},
                          .env = no_variable,
                          .mpirun = "m",
                          .program = "orterun",
                          .hosts = str_text(&hosts)},
            &fourth);
    CHECK(strv_has(&fourth.plan.variables, "OMPI_MCA_plm_rsh_num_concurrent=130"));
    CHECK(strv_has(&fourth.plan.variables, "PRTE_MCA_plm_ssh_num_concurrent=130"));
    perform(&few, &first);
    CHECK(strv_has(&first.plan.variables, "OMPI_MCA_orte_leave_session_attached=1"));
    CHECK(strv_has(&first.plan.variables, "PRTE_MCA_prte_leave_session_attached=1"));
    CHECK(strv_has(&first.plan.variables, "OMPI_MCA_plm_rsh_num_concurrent=128"));
    perform(&own, &second);
    CHECK(!strv_has(&second.plan.variables, "OMPI_MCA_orte_leave_session_attached=1"));
    perform(&here, &third);
    CHECK(!strv_has(&third.plan.variables, "OMPI_MCA_orte_leave_session_attached=1"));
    CHECK(!strv_has(&third.plan.variables, "OMPI_MCA_plm_rsh_num_concurrent=128"));
}

static const char *own_regx(const char *name)
{
    return strcmp(name, "OMPI_MCA_regx") == 0 ? "reverse" : NULL;
}

/* open-mpi/ompi v4.1.4, orte/mca/regx/fwd/regx_fwd.c: a name has letters, digits, dots and hyphens only. */
TEST(names_with_an_underscore_are_passed_on_as_they_are)
{
    static const struct {
        const char *hosts;
        const char *(*env)(const char *);
        bool is_naive;
    } rows[] = {{"pod1 pod-2.lan", no_variable, false},
                {"pod1 pod_2", no_variable, true},
                {"a_b c", own_regx, false}};

    CHECK_ROWS (row, rows) {
        struct run run = {.words = {"--num-replicas=2", "--num-instances=2", "a"},
                          .env = row->env,
                          .mpirun = "m",
                          .program = "orterun",
                          .hosts = row->hosts};
        AUTO(outcome) struct outcome outcome = {0};

        perform(&run, &outcome);
        CHECK(strv_has(&outcome.plan.variables, "OMPI_MCA_regx=naive") == row->is_naive);
    }
}

/* mpirun's own exit status for it is not that of a shell; the wrapper's is. */
TEST(one_instance_of_a_missing_program_has_a_wrapper)
{
    static const struct run run = {
        .words = {"a"}, .env = no_variable, .mpirun = "m", .program = "orterun", .program_is_missing = true};
    AUTO(str) struct str text = {0};

    command(&run, &text);
    CHECK_HAS(str_text(&text), "'-x' 'POPRUN_WRAPPER_UNBOUND=1' 'poprun_numa_wrapper' 'a'");
}

static const struct run long_run = {
    .words = {"--num-replicas=4", "--num-instances=2", "--mpi-local-args=-x A='b  c' -x D", "a", "b c", ":",
              ""},
    .env = no_variable,
    .mpirun = "/usr/bin/mpirun",
    .program = "orterun",
    .has_app_file = true,
};

TEST(an_application_file_has_what_differs_and_two_variables_the_rest)
{
    AUTO(outcome) struct outcome outcome = {0};
    AUTO(str) struct str text = {0};

    perform(&long_run, &outcome);
    plan_print(&outcome.plan, &text);
    CHECK_STR_EQ(str_text(&text),
                 "/usr/bin/mpirun '--bind-to' 'none' '--tag-output' '--allow-run-as-root' '--app' 'FILE'\n"
                 "FILE:\n"
                 "-np 1 -x POPDIST_REPLICA_INDEX_OFFSET=0 -x POPDIST_LOCAL_INSTANCE_INDEX=0 -x PATH -x "
                 "LD_LIBRARY_PATH -x PYTHONPATH -x D -x POPRUN_WRAPPER_SHARED -x POPRUN_WRAPPER_PROGRAM "
                 "poprun_numa_wrapper\n"
                 "-np 1 -x POPDIST_REPLICA_INDEX_OFFSET=2 -x POPDIST_LOCAL_INSTANCE_INDEX=1 -x PATH -x "
                 "LD_LIBRARY_PATH -x PYTHONPATH -x D -x POPRUN_WRAPPER_SHARED -x POPRUN_WRAPPER_PROGRAM "
                 "poprun_numa_wrapper\n"
                 "POPRUN_WRAPPER_SHARED:\n"
                 "POPDIST_NUM_TOTAL_REPLICAS=4\n"
                 "POPDIST_NUM_IPUS_PER_REPLICA=1\n"
                 "POPDIST_NUM_LOCAL_REPLICAS=2\n"
                 "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1\n"
                 "IPUOF_LOG_LEVEL=WARN\n"
                 "A=b  c\n"
                 "POPRUN_WRAPPER_PROGRAM:\n"
                 "a\nb c\n:\n\n");
}

TEST(the_size_of_a_command_is_that_of_its_words_and_variables)
{
    struct plan plan = {0};

    strv_push(&plan.argv, "mpirun");
    strv_push(&plan.argv, "ab");
    strv_push(&plan.variables, "A=b");
    CHECK_INT_EQ(plan_command_bytes(&plan), 7 + 3 + 4 + 3 * sizeof(char *));
    plan_release(&plan);
}

TEST(a_lone_colon_among_the_programs_arguments_is_kept_from_mpirun)
{
    AUTO(strv) struct strv plain = {0}, colon = {0};

    strv_push(&plain, "echo");
    strv_push(&plain, "a:b");
    strv_push(&colon, "echo");
    strv_push(&colon, ":");
    CHECK(!plan_needs_app_file(&plain));
    CHECK(plan_needs_app_file(&colon));
}
