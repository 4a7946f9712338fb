#include "launcher/env/rankenv.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define ENTRIES 16
#define OPEN_MPI "OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_RANK=1"
#define IN_ONE_POD OPEN_MPI, "OMPI_COMM_WORLD_LOCAL_SIZE=4"

static const struct {
    char *env[ENTRIES];
    const char *master, *rank, *world_size, *local_rank, *master_addr, *master_port;
} rows[] = {
    {{OPEN_MPI}, "10.0.0.5:24001", "3", "4", "1", "10.0.0.5", "24001"},
    {{OPEN_MPI}, "[fd00::5]:24001", "3", "4", "1", "fd00::5", "24001"},
    /* A run within one pod. */
    {{IN_ONE_POD, "IPU_JOB_MASTER_PORT=24001"}, NULL, "3", "4", "1", "127.0.0.1", "24001"},
    {{IN_ONE_POD}, NULL, "3", "4", "1", "127.0.0.1", "29500"},
    /* A run over pods, by the user's own means. */
    {{OPEN_MPI, "OMPI_COMM_WORLD_LOCAL_SIZE=2"}, NULL, "3", "4", "1", NULL, NULL},
    /* The user's values, empty ones too. */
    {{OPEN_MPI, "RANK=7", "WORLD_SIZE=", "LOCAL_RANK=9", "MASTER_ADDR=head", "MASTER_PORT=1"},
     "10.0.0.5:24001",
     "7",
     "",
     "9",
     "head",
     "1"},
    /* Those that ipu-launch has set for the pod are not the user's. */
    {{IN_ONE_POD, "IPU_JOB_IPUS_PER_INSTANCE=2", "IPU_JOB_WORKERS=2", "IPU_JOB_WORKER_INDEX=1",
      "IPU_JOB_MASTER_ADDR=head", "IPU_JOB_MASTER_PORT=24001", "MASTER_ADDR=head", "RANK=1", "WORLD_SIZE=2"},
     NULL,
     "3",
     "4",
     "1",
     "127.0.0.1",
     "24001"},
    /* Not started by mpirun. */
    {{"PATH=/bin"}, "10.0.0.5:24001", NULL, NULL, NULL, NULL, NULL},
};

TEST(a_rank_finds_its_place_as_torch_reads_it)
{
    CHECK_ROWS (row, rows) {
        AUTO(envv) struct envv env = {0};
        struct err err;

        envv_init(&env, row->env);
        CHECK_OK(rankenv_complete(&env, row->master, &err), err);
        CHECK_STR_EQ(envv_get(&env, "RANK"), row->rank);
        CHECK_STR_EQ(envv_get(&env, "WORLD_SIZE"), row->world_size);
        CHECK_STR_EQ(envv_get(&env, "LOCAL_RANK"), row->local_rank);
        CHECK_STR_EQ(envv_get(&env, "MASTER_ADDR"), row->master_addr);
        CHECK_STR_EQ(envv_get(&env, "MASTER_PORT"), row->master_port);
    }
}

TEST(a_master_without_a_port_is_rejected)
{
    char *none[] = {NULL};
    AUTO(envv) struct envv env = {0};
    struct err err;

    envv_init(&env, none);
    CHECK(!rankenv_complete(&env, "head", &err));
    CHECK_STR_EQ(err.msg, "--master must be ADDRESS:PORT, got \"head\"");
}

TEST(a_single_rank_is_alone)
{
    char *one[] = {"OMPI_COMM_WORLD_SIZE=1", NULL}, *two[] = {"OMPI_COMM_WORLD_SIZE=2", NULL},
         *none[] = {NULL};
    AUTO(envv) struct envv first = {0}, second = {0}, third = {0};

    envv_init(&first, one);
    envv_init(&second, two);
    envv_init(&third, none);
    CHECK(rankenv_is_alone(&first));
    CHECK(!rankenv_is_alone(&second));
    CHECK(rankenv_is_alone(&third));
}

#define WORDS(text) text, sizeof(text) - 1

TEST(lines_of_open_mpi_5_are_tagged_unless_mpirun_does_it_or_the_user_wants_none)
{
    static const struct {
        char *env[6];
        const char *words;
        size_t len;
        const char *want;
    } cases[] = {
        {{"PRTE_LAUNCHED=1", "OMPI_MCA_orte_tag_output=1", "OMPI_COMM_WORLD_RANK=3"},
         WORDS("mpirun\0a"),
         "3"},
        {{"PRTE_LAUNCHED=1", "OMPI_MCA_orte_tag_output=1", "OMPI_COMM_WORLD_RANK=3"}, WORDS(""), "3"},
        {{"OMPI_MCA_orte_tag_output=1", "OMPI_COMM_WORLD_RANK=3"}, WORDS("mpirun"), NULL},
        {{"PRTE_LAUNCHED=1", "OMPI_MCA_orte_tag_output=0", "OMPI_COMM_WORLD_RANK=3"}, WORDS("mpirun"), NULL},
        {{"PRTE_LAUNCHED=1", "OMPI_MCA_orte_tag_output=1", "OMPI_COMM_WORLD_RANK=3", "IPU_JOB_TAGGED=1"},
         WORDS("prted"),
         NULL},
        {{"PRTE_LAUNCHED=1", "OMPI_MCA_orte_tag_output=1", "OMPI_COMM_WORLD_RANK=3"},
         WORDS("mpirun\0--tag-output\0a"),
         NULL},
        {{"PRTE_LAUNCHED=1", "OMPI_MCA_orte_tag_output=1", "OMPI_COMM_WORLD_RANK=3"},
         WORDS("mpirun\0--output\0tag,timestamp\0a"),
         NULL},
        {{"PRTE_LAUNCHED=1", "OMPI_MCA_orte_tag_output=1", "OMPI_COMM_WORLD_RANK=3"},
         WORDS("mpirun\0--output=dir=out\0a\0--output"),
         "3"},
        {{"PRTE_LAUNCHED=1", "OMPI_MCA_orte_tag_output=1", "OMPI_COMM_WORLD_RANK=3"},
         WORDS("mpirun\0python3\0train.py\0--output=/data/stage\0--output\0rank.txt"),
         "3"},
        {{"PRTE_LAUNCHED=1", "OMPI_MCA_orte_tag_output=1", "OMPI_COMM_WORLD_RANK=3"},
         WORDS("mpirun\0--output=dir=out,:TAG-det\0a"),
         NULL},
        {{"PRTE_LAUNCHED=1", "OMPI_MCA_orte_tag_output=1", "OMPI_COMM_WORLD_RANK=3"},
         WORDS("mpirun\0--output=,:\0--output=\0--output"),
         "3"},
    };

    CHECK_ROWS (row, cases) {
        AUTO(envv) struct envv env = {0};

        envv_init(&env, row->env);
        CHECK_STR_EQ(rankenv_tag(&env, row->words, row->len), row->want);
    }
}
