#include "launcher/env/mpienv.h"

#include "base/core/mem.h"

/* Open MPI's limit of agents that run at the same time; with more hosts an attached start would hang. */
#define CONCURRENT_DEFAULT 128u

enum { COLUMN_VALUE, COLUMN_FIRST_NAME, COLUMN_COUNT = COLUMN_FIRST_NAME + 2 };

/* Workers never start anything on each other: they have no keys for that. Each daemon of mpirun stays in the
 * agent's foreground: mpirun would wait forever for one that ended before it had connected. Only the agent
 * resolves workers' names: mpirun's own lookup would wait long without DNS, and would take a worker that
 * shares its node's address for its own host. A daemon that starts ranks in separate threads may miss the
 * end of a short one, and wait for it forever (PRRTE's pull request 2713). */
static const char *const constants[][COLUMN_COUNT] = {
    {"1", "OMPI_MCA_plm_rsh_no_tree_spawn", "PRTE_MCA_plm_ssh_no_tree_spawn"},
    {"1", "OMPI_MCA_orte_leave_session_attached", "PRTE_MCA_prte_leave_session_attached"},
    {"1", "OMPI_MCA_if_base_do_not_resolve", "PRTE_MCA_prte_do_not_resolve"},
    {"1", "OMPI_MCA_orte_keep_fqdn_hostnames", "PRTE_MCA_prte_keep_fqdn_hostnames"},
    {"3", "OMPI_MCA_oob_tcp_keepalive_time", "PRTE_MCA_oob_tcp_keepalive_time"},
    {"1", "OMPI_MCA_oob_tcp_keepalive_intvl", "PRTE_MCA_oob_tcp_keepalive_intvl"},
    {"3", "OMPI_MCA_oob_tcp_keepalive_probes", "PRTE_MCA_oob_tcp_keepalive_probes"},
    {"0", "OMPI_MCA_odls_base_max_threads", "PRTE_MCA_odls_base_max_threads"},
    {"1", "OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"},
    {"1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"},
};

static void add_constants(struct envv *env)
{
    for (size_t i = 0; i < COUNT_OF(constants); i++)
        for (size_t name = COLUMN_FIRST_NAME; name < COLUMN_COUNT; name++)
            envv_default(env, constants[i][name], constants[i][COLUMN_VALUE]);
}

static void add_network(struct envv *env)
{
    const char *network = envv_get(env, MPIENV_ENV_NETWORK);

    if (!network || !*network)
        return;
    envv_default(env, "OMPI_MCA_oob_tcp_if_include", network);
    envv_default(env, "OMPI_MCA_btl_tcp_if_include", network);
    envv_default(env, "PRTE_MCA_prte_if_include", network);
}

static void add_daemons(struct envv *env, const char *dir)
{
    AUTO(mem) char *orted = mem_printf("%s/ipu-launch daemon orted", dir);
    AUTO(mem) char *prted = mem_printf("%s/ipu-launch daemon prted", dir);

    envv_default(env, "OMPI_MCA_orte_launch_agent", orted);
    envv_default(env, "PRTE_MCA_prte_launch_agent", prted);
}

/* A user's choice of agent wins, under any of the setting's names. */
static void add_agent(struct envv *env, const char *dir)
{
    AUTO(mem) char *agent = mem_printf("%s/ipu-launch remote", dir);

    if (!envv_get(env, "OMPI_MCA_orte_rsh_agent"))
        envv_default(env, "OMPI_MCA_plm_rsh_agent", agent);
    envv_default(env, "PRTE_MCA_plm_ssh_agent", agent);
}

void mpienv_complete_ranks(struct envv *env, const char *dir, const char *master)
{
    AUTO(mem)
    char *rank =
        mem_printf("%s/ipu-launch rank%s%s --", dir, master ? " --master " : "", master ? master : "");

    /* orte/runtime/orte_mca_params.c of Open MPI v4.1.4, src/mca/odls/base/odls_base_frame.c of PRRTE v3.0.13
     */
    envv_default(env, "OMPI_MCA_orte_fork_agent", rank);
    envv_default(env, "PRTE_MCA_odls_base_exec_agent", rank);
    /* A log contains the output of all ranks. Open MPI 5 has an option for it, and no variable. */
    envv_default(env, "OMPI_MCA_orte_tag_output", "1");
}

void mpienv_complete(struct envv *env, const struct mpienv *of)
{
    AUTO(mem)
    char *concurrent =
        mem_printf("%zu", of->hosts > CONCURRENT_DEFAULT ? of->hosts : (size_t)CONCURRENT_DEFAULT);

    envv_default(env, "OMPI_MCA_orte_default_hostfile", of->hostfile);
    envv_default(env, "PRTE_MCA_prte_default_hostfile", of->hostfile);
    envv_default(env, "OMPI_MCA_plm_rsh_num_concurrent", concurrent);
    envv_default(env, "PRTE_MCA_plm_ssh_num_concurrent", concurrent);
    add_agent(env, of->dir);
    add_daemons(env, of->dir);
    add_constants(env);
    mpienv_complete_ranks(env, of->dir, of->master);
    add_network(env);
}
