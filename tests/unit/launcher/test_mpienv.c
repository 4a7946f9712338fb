#include "launcher/env/mpienv.h"

#include "base/core/mem.h"
#include "lib/check.h"

static const struct mpienv of = {
    .hostfile = "/tmp/hosts", .dir = "/ipu", .master = "10.0.0.5:24001", .hosts = 200};

TEST(both_generations_of_open_mpi_get_the_parameter)
{
    char *none[] = {NULL};
    AUTO(envv) struct envv env = {0};
    static const char *const rows[][2] = {
        {"OMPI_MCA_plm_rsh_agent", "/ipu/ipu-launch remote"},
        {"PRTE_MCA_plm_ssh_agent", "/ipu/ipu-launch remote"},
        {"OMPI_MCA_orte_default_hostfile", "/tmp/hosts"},
        {"PRTE_MCA_prte_default_hostfile", "/tmp/hosts"},
        {"OMPI_MCA_plm_rsh_no_tree_spawn", "1"},
        {"PRTE_MCA_plm_ssh_no_tree_spawn", "1"},
        {"OMPI_MCA_orte_leave_session_attached", "1"},
        {"PRTE_MCA_prte_leave_session_attached", "1"},
        {"OMPI_MCA_plm_rsh_num_concurrent", "200"},
        {"PRTE_MCA_plm_ssh_num_concurrent", "200"},
        {"OMPI_MCA_oob_tcp_keepalive_time", "3"},
        {"OMPI_MCA_if_base_do_not_resolve", "1"},
        {"OMPI_MCA_odls_base_max_threads", "0"},
        {"PRTE_MCA_odls_base_max_threads", "0"},
        {"OMPI_MCA_orte_fork_agent", "/ipu/ipu-launch rank --master 10.0.0.5:24001 --"},
        {"PRTE_MCA_odls_base_exec_agent", "/ipu/ipu-launch rank --master 10.0.0.5:24001 --"},
        {"OMPI_MCA_orte_launch_agent", "/ipu/ipu-launch daemon orted"},
        {"PRTE_MCA_prte_launch_agent", "/ipu/ipu-launch daemon prted"},
        {"OMPI_MCA_orte_tag_output", "1"},
        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
        {"OMPI_MCA_btl_tcp_if_include", NULL},
    };

    envv_init(&env, none);
    mpienv_complete(&env, &of);
    CHECK_ROWS (row, rows) {
        CHECK_STR_EQ(envv_get(&env, (*row)[0]), (*row)[1]);
    }
}

TEST(what_the_user_has_set_stays)
{
    char *own[] = {"OMPI_MCA_plm_rsh_no_tree_spawn=0", "OMPI_MCA_orte_rsh_agent=ssh",
                   "IPU_JOB_NETWORK=10.5.0.0/16", "OMPI_MCA_btl_tcp_if_include=eth1", NULL};
    AUTO(envv) struct envv env = {0};

    envv_init(&env, own);
    mpienv_complete(&env, &of);
    CHECK_STR_EQ(envv_get(&env, "OMPI_MCA_plm_rsh_no_tree_spawn"), "0");
    CHECK_STR_EQ(envv_get(&env, "OMPI_MCA_plm_rsh_agent"), NULL);
    CHECK_STR_EQ(envv_get(&env, "OMPI_MCA_oob_tcp_if_include"), "10.5.0.0/16");
    CHECK_STR_EQ(envv_get(&env, "OMPI_MCA_btl_tcp_if_include"), "eth1");
}

TEST(a_worker_starts_ranks_through_the_same_program)
{
    char *own[] = {"OMPI_MCA_orte_tag_output=0", NULL};
    AUTO(envv) struct envv env = {0};

    envv_init(&env, own);
    mpienv_complete_ranks(&env, "/ipu", NULL);
    CHECK_STR_EQ(envv_get(&env, "OMPI_MCA_orte_fork_agent"), "/ipu/ipu-launch rank --");
    CHECK_STR_EQ(envv_get(&env, "OMPI_MCA_orte_tag_output"), "0");
    CHECK_STR_EQ(envv_get(&env, "OMPI_MCA_plm_rsh_agent"), NULL);
}
