/* The options of a run, typed and checked: the values of the rows of option.h. Pure; the environment is a
 * parameter. The caller releases them. */
#pragma once

#include "base/core/str.h"
#include "launcher/poprun/options/option.h"
#include "launcher/poprun/options/settings.h"

enum placement {
    PLACEMENT_SPREAD_NUMA,
    PLACEMENT_SCATTER_SOCKET,
    PLACEMENT_SCATTER_NUMA,
    PLACEMENT_CLOSE,
    PLACEMENT_DISABLED,
};

enum version_format { VERSION_TEXT, VERSION_FULL_TEXT, VERSION_FULL_JSON };

struct poprun_options {
    bool help;
    bool version;
    int version_format; /* enum version_format */
    char *import_config;
    char *export_config;
    bool overwrite_config;
    bool debug;
    bool verbose;
    bool very_verbose;
    bool dry_run;

    char *host;
    char *hostfile;
    uint32_t num_replicas;
    uint32_t ipus_per_replica;
    uint32_t num_instances;
    uint32_t num_ilds; /* 0: not given */
    char *vipu_server_host;
    uint32_t vipu_server_port;
    uint32_t vipu_server_timeout_s;
    char *vipu_partition;
    uint32_t vipu_partition_attempts;
    bool update_partition;
    bool reset_partition; /* valid only if given */
    bool remove_partition;
    char *vipu_cluster;
    char *vipu_allocation;
    char *executable_cache_path; /* NULL: automatic, "": off */
    struct strv mpi_global_args;
    struct strv mpi_local_args;
    struct strv instance_mpi_local_args;
    char *autoreport_dir;
    int process_placement; /* enum placement */
    bool numa_aware;
    bool print_topology;
    uint32_t only_output_from_instance; /* valid only if given */
    bool offline_mode;
    char *host_subnet;
    char *sync_type;
    bool allow_run_as_root;
    bool synchronise_python_venv;
    bool synchronise_poplar_sdk;
    bool distribute_ssh_key;

    bool given[OPTION_MAX]; /* by option_index */
};

/* Defaults, then the settings in their order; `target` is zeroed. One sentence per mistake. */
void poprun_options_fill(const struct settings *settings, struct poprun_options *target,
                         struct strv *problems);
/* Reports options that contradict each other, or the environment. */
void poprun_options_check(const struct poprun_options *options, const struct strv *program,
                          const char *(*env)(const char *), struct strv *problems);
/* A sentence for each value that is valid, but probably a mistake. */
void poprun_options_hint(const struct poprun_options *options, const char *(*env)(const char *),
                         struct strv *hints);
bool poprun_is_given(const struct poprun_options *options, const char *name);
/* The strategy, with --numa-aware taken into account. */
enum placement poprun_placement(const struct poprun_options *options);
void poprun_options_release(struct poprun_options *options);

static inline void poprun_options_auto(struct poprun_options *options)
{
    poprun_options_release(options);
}
