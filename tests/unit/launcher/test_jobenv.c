#include "launcher/env/jobenv.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define ENTRIES 16
#define GIVEN_OPTIONS "IPU_JOB_TARGET_OPTIONS={\"ipuLinkDomainSize\":\"16\",\"instanceSize\":\"8\"}"

struct row {
    char *env[ENTRIES];
    const char *added; /* one per line */
};

static const struct row rows[] = {
    /* A plain worker: PopDist sees nothing, whatever else is told. */
    {{"IPU_JOB_IPUS_PER_INSTANCE=4", "IPU_JOB_WORKERS=1", "IPU_JOB_WORKER_INDEX=0", "IPU_JOB_INSTANCES=2",
      "IPU_JOB_INSTANCE_INDEX=1", GIVEN_OPTIONS, "IPU_JOB_MASTER_ADDR=w-0", "IPU_JOB_MASTER_PORT=29500",
      NULL},
     ""},
    {{"IPU_JOB_IPUS_PER_INSTANCE=16", "IPU_JOB_REPLICAS_PER_WORKER=4", GIVEN_OPTIONS, NULL},
     "POPDIST_NUM_TOTAL_REPLICAS=4\n"
     "POPDIST_NUM_IPUS_PER_REPLICA=4\n"
     "POPDIST_NUM_LOCAL_REPLICAS=4\n"
     "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1\n"
     "POPDIST_REPLICA_INDEX_OFFSET=0\n"
     "POPDIST_LOCAL_INSTANCE_INDEX=0\n"},
    {{"IPU_JOB_IPUS_PER_INSTANCE=16", "IPU_JOB_WORKERS=2", "IPU_JOB_WORKER_INDEX=1",
      "IPU_JOB_REPLICAS_PER_WORKER=2", GIVEN_OPTIONS, "IPU_JOB_MASTER_ADDR=w-0.job",
      "IPU_JOB_MASTER_PORT=29500", NULL},
     "POPDIST_NUM_TOTAL_REPLICAS=4\n"
     "POPDIST_NUM_IPUS_PER_REPLICA=4\n"
     "POPDIST_NUM_LOCAL_REPLICAS=2\n"
     "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1\n"
     "POPDIST_REPLICA_INDEX_OFFSET=2\n"
     "POPDIST_LOCAL_INSTANCE_INDEX=0\n"
     "POPLAR_TARGET_OPTIONS={\"ipuLinkDomainSize\":\"16\",\"instanceSize\":\"8\"}\n"
     "RANK=1\n"
     "WORLD_SIZE=2\n"
     "LOCAL_RANK=0\n"
     "MASTER_ADDR=w-0.job\n"
     "MASTER_PORT=29500\n"},
    /* No address: a launcher ranks its workers itself. */
    {{"IPU_JOB_IPUS_PER_INSTANCE=2", "IPU_JOB_WORKERS=2", NULL},
     "POPDIST_NUM_TOTAL_REPLICAS=2\n"
     "POPDIST_NUM_IPUS_PER_REPLICA=1\n"
     "POPDIST_NUM_LOCAL_REPLICAS=1\n"
     "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1\n"
     "POPDIST_REPLICA_INDEX_OFFSET=0\n"
     "POPDIST_LOCAL_INSTANCE_INDEX=0\n"},
    /* The user's values, empty ones too, beat the defaults, and those beat what is computed. */
    {{"IPU_JOB_IPUS_PER_INSTANCE=2", "IPU_JOB_WORKERS=2", "POPDIST_NUM_LOCAL_REPLICAS=9",
      "IPU_DEFAULT_POPDIST_REPLICA_INDEX_OFFSET=7", "IPU_DEFAULT_POPDIST_NUM_LOCAL_REPLICAS=8",
      "POPDIST_LOCAL_INSTANCE_INDEX=", "POPLAR_TARGET_OPTIONS=", GIVEN_OPTIONS, "RANK=5",
      "IPU_JOB_MASTER_ADDR=w-0", "IPU_JOB_MASTER_PORT=1", NULL},
     "POPDIST_REPLICA_INDEX_OFFSET=7\n"
     "POPDIST_NUM_TOTAL_REPLICAS=2\n"
     "POPDIST_NUM_IPUS_PER_REPLICA=1\n"
     "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1\n"
     "WORLD_SIZE=2\n"
     "LOCAL_RANK=0\n"
     "MASTER_ADDR=w-0\n"
     "MASTER_PORT=1\n"},
    {{"IPU_DEFAULT_IPUOF_VIPU_API_HOST=vipu", "IPU_DEFAULT_IPUOF_VIPU_API_PORT=8090", "IPUOF_VIPU_API_PORT=1",
      NULL},
     "IPUOF_VIPU_API_HOST=vipu\n"},
};

static char *added(const struct envv *env)
{
    struct str text = {0};

    for (size_t i = 0; i < env->added.count; i++)
        str_addf(&text, "%s\n", env->added.items[i]);
    return str_take(&text);
}

TEST(a_shape_becomes_the_commands_environment)
{
    CHECK_ROWS (row, rows) {
        AUTO(envv) struct envv env = {0};
        struct err err;

        envv_init(&env, row->env);
        CHECK_OK(jobenv_complete(&env, NULL, &err), err);
        AUTO(mem) char *got = added(&env);
        CHECK_STR_EQ(got, row->added);
        CHECK_INT_EQ(envv_count(&env, "IPU_DEFAULT_"), 0);
    }
}

/* A launcher inside a launcher, or an exec into the pod, sees the same. */
TEST(completing_twice_changes_nothing)
{
    CHECK_ROWS (row, rows) {
        AUTO(envv) struct envv once = {0};
        AUTO(envv) struct envv twice = {0};
        struct err err;

        envv_init(&once, row->env);
        CHECK_OK(jobenv_complete(&once, "/ipu", &err), err);
        envv_init(&twice, once.items);
        CHECK_OK(jobenv_complete(&twice, "/ipu", &err), err);
        CHECK_INT_EQ(twice.added.count, 0);
        CHECK_INT_EQ(twice.count, once.count);
    }
}

TEST(the_shape_stays_visible)
{
    static char *const entries[] = {"IPU_JOB_INSTANCE_INDEX=1", "IPU_JOB_WORKERS=1", NULL};
    AUTO(envv) struct envv env = {0};
    struct err err;

    envv_init(&env, entries);
    CHECK_OK(jobenv_complete(&env, NULL, &err), err);
    CHECK_STR_EQ(envv_get(&env, "IPU_JOB_INSTANCE_INDEX"), "1");
    CHECK_STR_EQ(envv_get(&env, "IPU_JOB_WORKERS"), "1");
}

struct path {
    char *env[2];
    const char *dir;
    const char *want;
};

static const struct path paths[] = {
    {{"PATH=/bin", NULL}, "/ipu", "/bin:/ipu"},
    {{"PATH=/bin:/ipu", NULL}, "/ipu", "/bin:/ipu"},
    {{"PATH=/ipu:/bin", NULL}, "/ipu", "/ipu:/bin"},
    {{"PATH=/bin:/ipu2:/a/ipu", NULL}, "/ipu", "/bin:/ipu2:/a/ipu:/ipu"},
    {{"PATH=", NULL}, "/ipu", ":/ipu"}, /* the working directory, as it was */
    {{NULL}, "/ipu", JOBENV_PATH ":/ipu"},
    {{"PATH=/bin", NULL}, "/a:b", "/bin"},
    {{"PATH=/bin", NULL}, NULL, "/bin"},
    {{NULL}, NULL, NULL},
};

TEST(the_launchers_directory_is_last_in_path)
{
    CHECK_ROWS (row, paths) {
        AUTO(envv) struct envv env = {0};
        struct err err;

        envv_init(&env, row->env);
        CHECK_OK(jobenv_complete(&env, row->dir, &err), err);
        CHECK_STR_EQ(envv_get(&env, "PATH"), row->want);
    }
}

TEST(a_bad_shape_is_rejected)
{
    static char *const entries[] = {"IPU_DEFAULT_IPU_JOB_WORKERS=none", NULL};
    AUTO(envv) struct envv env = {0};
    struct err err;

    envv_init(&env, entries);
    CHECK_ERR(jobenv_complete(&env, "/ipu", &err), err, ERR_INVALID);
    CHECK_HAS(err.msg, "IPU_JOB_WORKERS must be a number from 1 to 65536, got \"none\"");
}

TEST(defaults_are_limited_in_number)
{
    AUTO(strv) struct strv entries = {0};
    AUTO(envv) struct envv env = {0};
    AUTO(envv) struct envv more = {0};
    struct err err;

    for (int i = 0; i < JOBENV_DEFAULTS_MAX; i++)
        strv_pushf(&entries, "IPU_DEFAULT_N%d=1", i);
    envv_init(&env, strv_argv(&entries));
    CHECK_OK(jobenv_complete(&env, NULL, &err), err);
    strv_push(&entries, "IPU_DEFAULT_LAST=1");
    envv_init(&more, strv_argv(&entries));
    CHECK_ERR(jobenv_complete(&more, NULL, &err), err, ERR_INVALID);
    CHECK_HAS(err.msg, "more than 256 variables start with IPU_DEFAULT_");
}

/* mpirun and poprun tell each process its part; a launcher is no worker at all. */
TEST(shares_are_not_for_what_a_launcher_starts)
{
    char *inherited[] = {"IPU_JOB_IPUS_PER_INSTANCE=4", "IPU_JOB_WORKERS=2", "IPU_JOB_TARGET_OPTIONS={}",
                         "IPU_DEFAULT_OWN=1", NULL};
    AUTO(envv) struct envv remote = {0}, launcher = {0};
    struct err err;

    envv_init(&remote, inherited);
    envv_init(&launcher, inherited);
    CHECK_OK(jobenv_complete_remote(&remote, "/ipu", &err), err);
    CHECK_OK(jobenv_complete_launcher(&launcher, "/ipu", &err), err);
    CHECK_STR_EQ(envv_get(&remote, "POPDIST_NUM_TOTAL_REPLICAS"), NULL);
    CHECK_STR_EQ(envv_get(&remote, "POPLAR_TARGET_OPTIONS"), "{}");
    CHECK_STR_EQ(envv_get(&launcher, "POPLAR_TARGET_OPTIONS"), NULL);
    CHECK_STR_EQ(envv_get(&remote, "OWN"), "1");
    CHECK_STR_EQ(envv_get(&launcher, "OWN"), "1");
    CHECK_STR_EQ(envv_get(&launcher, "PATH"), JOBENV_PATH ":/ipu");
}
