/* One mpirun command for a run: each instance is a program of its own in it, with its environment. Pure, and
 * plain data: printable, comparable. The arguments are those that Graphcore's PopRun logs; whatever else
 * Open MPI needs is set by mpirun's environment. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"
#include "launcher/poprun/options/dialect.h"
#include "launcher/poprun/options/options.h"
#include "launcher/poprun/plan/partition.h"
#include "launcher/poprun/plan/topology.h"

struct plan_input {
    const struct poprun_options *options; /* validated */
    const struct strv *program;
    const struct topology *topology;
    const struct partition_view *view; /* NULL: no IPUs */
    const struct parent *parent;       /* NULL: none, or the partition is not reconfigurable */
    const char *target_options;        /* NULL: none */
    const char *cache_dir;             /* NULL: no cache */
    bool cache_per_host;               /* instances create and remove plan_host_cache() on their hosts */
    const char *network;               /* for traffic between hosts; NULL: Open MPI chooses */
    const char *mpirun;                /* its path */
    bool program_is_missing;           /* on this host, as far as poprun can see */
    bool has_app_file; /* the command is too long, or has words that mpirun would take for its own */
    const struct mpi_dialect *dialect;
    const char *(*env)(const char *name);
};

struct plan {
    struct strv argv;
    struct strv app_lines; /* the content of the file for --app, which argv does not name yet; empty: none */
    struct strv variables; /* NAME=value, for mpirun itself */
};

/* ERR_INVALID if the arguments for mpirun cannot be split, or do not fit an application file. */
MUST_USE bool plan_make(const struct plan_input *input, struct plan *ret, struct err *err);
void plan_release(struct plan *plan);

static inline void plan_auto(struct plan *plan)
{
    plan_release(plan);
}

/* The command, as for a shell; then the content of the application file, and of the variables for it. */
void plan_print(const struct plan *plan, struct str *out);
/* The bytes that the kernel counts of argv and variables when mpirun is executed with them. */
size_t plan_command_bytes(const struct plan *plan);
/* mpirun starts a new program at a lone colon. */
bool plan_needs_app_file(const struct strv *program);

/* The run's own executable cache on a host, by the host's number. The caller frees it. */
char *plan_host_cache(const char *cache_dir, uint32_t host);

/* Variables of poprun's environment that must not reach instances: those of a surrounding run, and
 * IPUOF_CONFIG_PATH. */
bool plan_excludes_variable(const char *entry);
