#include "launcher/poprun/options/options.h"

#define AT(field) .offset = offsetof(struct poprun_options, field)
#define SWITCH(field_) .type = OPTION_SWITCH, AT(field_)
#define YES_NO(field_) .type = OPTION_BOOL, .arg = "yes|no", AT(field_)
#define COUNT(field_, from, to) .type = OPTION_COUNT, .arg = "N", AT(field_), .min = (from), .max = (to)
#define TEXT(field_, name_) .type = OPTION_TEXT, .arg = (name_), AT(field_)
#define MPI_ARGS(field_, name_) .type = OPTION_LIST, .arg = (name_), AT(field_)
#define CHOICE(field_, name_, list) .type = OPTION_CHOICE, .arg = (name_), AT(field_), .choices = (list)
/* Other fields may follow the help text: .letter = 'H'. */
#define OPTION(name_, group_, value_, ...)                                                                   \
    {                                                                                                        \
        .name = (name_), group_, value_, .help = __VA_ARGS__                                                 \
    }
#define GENERIC .group = OPTION_GENERIC
#define LAUNCH .group = OPTION_LAUNCH

#define MOST_REPLICAS 65536u
#define MOST_INSTANCES 4096u
#define DAY_S 86400u

static const char *const version_formats[] = {"text", "full-text", "full-json", NULL};
static const char *const placements[] = {"spreadnuma", "scattersocket", "scatternuma",
                                         "close",      "disabled",      NULL};

const struct option_row option_rows[] = {
    OPTION("help", GENERIC, SWITCH(help), "print this text and exit", .is_cli_only = true),
    OPTION("version", GENERIC, SWITCH(version), "print the version and exit", .is_cli_only = true),
    OPTION("version-format", GENERIC, CHOICE(version_format, "FORMAT", version_formats),
           "format of --version; the full forms add PopDist and the libraries of poprun", .fallback = "text",
           .is_cli_only = true),
    OPTION("import-config", GENERIC, TEXT(import_config, "FILE"),
           "read options and program from this file; the command line takes precedence", .is_cli_only = true),
    OPTION("export-config", GENERIC, TEXT(export_config, "FILE"),
           "write options and program to this file, then launch", .is_cli_only = true),
    OPTION("overwrite-config", GENERIC, YES_NO(overwrite_config),
           "overwrite an existing file with --export-config (default: append a timestamp to the name)",
           .fallback = "no", .is_cli_only = true),
    OPTION("debug", GENERIC, SWITCH(debug), "log everything, to find out why a launch fails"),
    OPTION("verbose", GENERIC, SWITCH(verbose), "log each step, on standard error", .letter = 'v'),
    OPTION("vv", GENERIC, SWITCH(very_verbose), "also log details, and print the topology; also -vv"),
    OPTION("dry-run", GENERIC, SWITCH(dry_run),
           "print the topology and the mpirun command instead of running it", .is_cli_only = true),

    OPTION("host", LAUNCH, TEXT(host, "LIST"),
           "hosts to run on, by name or address: host0,host1 or host[0-2,4]; instances are divided evenly "
           "among them (default: this host)",
           .letter = 'H'),
    OPTION("hostfile", LAUNCH, TEXT(hostfile, "FILE"), "the same from a file, one host per line"),
    OPTION("num-replicas", LAUNCH, COUNT(num_replicas, 1, MOST_REPLICAS),
           "total number of model replicas; a multiple of --num-instances", .fallback = "1"),
    OPTION("ipus-per-replica", LAUNCH, COUNT(ipus_per_replica, 1, MOST_REPLICAS), "IPUs per replica",
           .fallback = "1"),
    OPTION("num-instances", LAUNCH, COUNT(num_instances, 1, MOST_INSTANCES),
           "number of processes; replicas are divided evenly among them", .fallback = "1"),
    OPTION("num-ilds", LAUNCH, COUNT(num_ilds, 1, MOST_REPLICAS),
           "IPU-Link domains of the partition, at most one for each instance (default: as few as possible)"),
    OPTION("vipu-server-host", LAUNCH, TEXT(vipu_server_host, "HOST"),
           "host of the V-IPU controller (default: that of vipu's settings)"),
    OPTION("vipu-server-port", LAUNCH, COUNT(vipu_server_port, 1, 65535), "its port", .fallback = "8090"),
    OPTION("vipu-server-timeout", LAUNCH, COUNT(vipu_server_timeout_s, 1, DAY_S),
           "timeout of each of its calls, in seconds", .fallback = "120"),
    OPTION("vipu-partition", LAUNCH, TEXT(vipu_partition, "ID"),
           "partition to use or, with --update-partition=yes, to create (default: the only one)"),
    OPTION("vipu-partition-attempts", LAUNCH, COUNT(vipu_partition_attempts, 1, 1000),
           "number of attempts for a partition that does not become active", .fallback = "1"),
    OPTION("update-partition", LAUNCH, YES_NO(update_partition),
           "create the partition when it is missing, and replace one that does not fit", .fallback = "no"),
    OPTION("reset-partition", LAUNCH, YES_NO(reset_partition),
           "reset the partition first (default: unless it is reconfigurable)"),
    OPTION("remove-partition", LAUNCH, YES_NO(remove_partition),
           "remove a partition that this run has created when the run ends", .fallback = "yes"),
    OPTION("vipu-cluster", LAUNCH, TEXT(vipu_cluster, "ID"),
           "cluster to create a partition in; --vipu-allocation is the modern form"),
    OPTION("vipu-allocation", LAUNCH, TEXT(vipu_allocation, "ID"), "allocation to create a partition in"),
    OPTION("executable-cache-path", LAUNCH, TEXT(executable_cache_path, "DIR"),
           "directory for compiled executables; empty: no cache (default: with several instances a directory "
           "that is removed at the end)"),
    OPTION("mpi-global-args", LAUNCH, MPI_ARGS(mpi_global_args, "ARGS"),
           "global options of mpirun; may be repeated"),
    OPTION("mpi-local-args", LAUNCH, MPI_ARGS(mpi_local_args, "ARGS"),
           "mpirun options of each instance, such as \"-x VAR=value\"; may be repeated"),
    OPTION("instance-mpi-local-args", LAUNCH, MPI_ARGS(instance_mpi_local_args, "N:ARGS"),
           "mpirun options of instance N only; may be repeated"),
    OPTION("autoreport-dir", LAUNCH, TEXT(autoreport_dir, "DIR"),
           "profile: each instance writes to the directory of its number in DIR"),
    OPTION("process-placement", LAUNCH, CHOICE(process_placement, "HOW", placements),
           "which CPUs an instance gets: its share of the NUMA nodes, one core of each socket or NUMA node "
           "in turn, the next core, or what mpirun decides",
           .fallback = "spreadnuma"),
    OPTION("numa-aware", LAUNCH, YES_NO(numa_aware), "older form: yes is spreadnuma, no is disabled",
           .fallback = "yes"),
    OPTION("print-topology", LAUNCH, YES_NO(print_topology),
           "print which replicas run in which instance, IPU-Link domain and host", .fallback = "no"),
    OPTION("only-output-from-instance", LAUNCH, COUNT(only_output_from_instance, 0, MOST_INSTANCES - 1),
           "discard the output of all other instances, including their errors"),
    OPTION("offline-mode", LAUNCH, YES_NO(offline_mode), "run without IPUs and without a V-IPU controller",
           .fallback = "no"),
    OPTION("host-subnet", LAUNCH, TEXT(host_subnet, "CIDR"),
           "network for traffic between hosts: 10.5.0.0/16 (default: that of an RDMA port if all are in it, "
           "else what Open MPI finds)"),
    OPTION("sync-type", LAUNCH, TEXT(sync_type, "TYPE"),
           "sync type of a partition that is created, such as ST_POD_NATIVE_DEFAULT"),
    OPTION("allow-run-as-root", LAUNCH, YES_NO(allow_run_as_root), "let mpirun start as root",
           .fallback = "yes"),
    OPTION("synchronise-python-venv", LAUNCH, YES_NO(synchronise_python_venv),
           "not supported; hosts need the same files in the same places", .fallback = "no"),
    OPTION("synchronise-poplar-sdk", LAUNCH, YES_NO(synchronise_poplar_sdk),
           "not supported; hosts need the same files in the same places", .fallback = "no"),
    OPTION("distribute-ssh-key", LAUNCH, YES_NO(distribute_ssh_key), "not supported; use ssh-copy-id",
           .fallback = "no"),
    {0},
};
_Static_assert(sizeof(option_rows) / sizeof(option_rows[0]) <= OPTION_MAX,
               "given[] has a place for each row");
