#include "launcher/env/shape.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define ENTRIES 8

struct good {
    char *env[ENTRIES];
    uint32_t ipus, workers, worker_index, replicas;
    bool shared;
    struct share share;
};

static const struct good goods[] = {
    {{NULL}, 0, 1, 0, 0, false, {0}},
    {{"IPU_JOB_IPUS_PER_INSTANCE=16", NULL}, 16, 1, 0, 0, false, {0}},
    {{"IPU_JOB_IPUS_PER_INSTANCE=3", "IPU_JOB_REPLICAS_PER_WORKER=0", NULL}, 3, 1, 0, 0, false, {0}},
    {{"IPU_JOB_IPUS_PER_INSTANCE=4", "IPU_JOB_REPLICAS_PER_WORKER=1", NULL}, 4, 1, 0, 1, true, {1, 1, 0, 4}},
    {{"IPU_JOB_IPUS_PER_INSTANCE=4", "IPU_JOB_REPLICAS_PER_WORKER=4", NULL}, 4, 1, 0, 4, true, {4, 4, 0, 1}},
    {{"IPU_JOB_IPUS_PER_INSTANCE=4", "IPU_JOB_WORKERS=2", NULL}, 4, 2, 0, 0, true, {2, 1, 0, 2}},
    {{"IPU_JOB_IPUS_PER_INSTANCE=4", "IPU_JOB_WORKERS=2", "IPU_JOB_WORKER_INDEX=1", NULL},
     4,
     2,
     1,
     0,
     true,
     {2, 1, 1, 2}},
    {{"IPU_JOB_IPUS_PER_INSTANCE=64", "IPU_JOB_WORKERS=4", "IPU_JOB_WORKER_INDEX=3",
      "IPU_JOB_REPLICAS_PER_WORKER=8", NULL},
     64,
     4,
     3,
     8,
     true,
     {32, 8, 24, 2}},
    {{"IPU_JOB_IPUS_PER_INSTANCE=65536", "IPU_JOB_WORKERS=65536", "IPU_JOB_WORKER_INDEX=65535", NULL},
     65536,
     65536,
     65535,
     0,
     true,
     {65536, 1, 65535, 1}},
};

TEST(a_shape_gives_the_workers_share)
{
    CHECK_ROWS (row, goods) {
        AUTO(envv) struct envv env = {0};
        struct shape shape;
        struct err err;

        envv_init(&env, row->env);
        CHECK_OK(shape_read(&env, &shape, &err), err);
        CHECK_INT_EQ(shape.ipus, row->ipus);
        CHECK_INT_EQ(shape.workers, row->workers);
        CHECK_INT_EQ(shape.worker_index, row->worker_index);
        CHECK_INT_EQ(shape.replicas, row->replicas);
        CHECK_INT_EQ(shape_is_shared(&shape), row->shared);
        if (!row->shared)
            continue;
        struct share share = shape_replica_share(&shape);
        CHECK_INT_EQ(share.total_replicas, row->share.total_replicas);
        CHECK_INT_EQ(share.local_replicas, row->share.local_replicas);
        CHECK_INT_EQ(share.replica_offset, row->share.replica_offset);
        CHECK_INT_EQ(share.ipus_per_replica, row->share.ipus_per_replica);
    }
}

/* Over all workers the shares cover the partition without gap or overlap. */
TEST(shares_tile_the_partition)
{
    for (uint32_t workers = 1; workers <= 64; workers *= 2) {
        for (uint32_t replicas = 1; workers * replicas <= 64; replicas *= 2) {
            struct shape shape = {.ipus = 64, .workers = workers, .replicas = replicas};
            uint32_t next = 0;

            for (shape.worker_index = 0; shape.worker_index < workers; shape.worker_index++) {
                struct share share = shape_replica_share(&shape);

                CHECK_INT_EQ(share.replica_offset, next);
                next += share.local_replicas;
                CHECK_INT_EQ(share.total_replicas * share.ipus_per_replica, 64);
            }
            CHECK_INT_EQ(next, workers * replicas);
        }
    }
}

struct bad {
    char *env[ENTRIES];
    const char *part;
};

static const struct bad bads[] = {
    {{"IPU_JOB_WORKERS=0", NULL}, "IPU_JOB_WORKERS must be a number from 1 to 65536, got \"0\""},
    {{"IPU_JOB_WORKERS=", NULL}, "IPU_JOB_WORKERS must be a number from 1 to 65536, got \"\""},
    {{"IPU_JOB_WORKERS=two", NULL}, "IPU_JOB_WORKERS must be a number from 1 to 65536, got \"two\""},
    {{"IPU_JOB_WORKERS=2x", NULL}, "IPU_JOB_WORKERS must be a number from 1 to 65536, got \"2x\""},
    {{"IPU_JOB_WORKERS= 2", NULL}, "IPU_JOB_WORKERS must be a number from 1 to 65536, got \" 2\""},
    {{"IPU_JOB_WORKERS=-2", NULL}, "IPU_JOB_WORKERS must be a number from 1 to 65536, got \"-2\""},
    {{"IPU_JOB_WORKERS=65537", NULL}, "IPU_JOB_WORKERS must be a number from 1 to 65536, got \"65537\""},
    {{"IPU_JOB_WORKERS=18446744073709551617", NULL}, "IPU_JOB_WORKERS must be a number"},
    {{"IPU_JOB_WORKER_INDEX=1", NULL}, "IPU_JOB_WORKER_INDEX is 1, but IPU_JOB_WORKERS is 1"},
    {{"IPU_JOB_IPUS_PER_INSTANCE=4", "IPU_JOB_WORKERS=4", "IPU_JOB_WORKER_INDEX=4", NULL},
     "IPU_JOB_WORKER_INDEX is 4, but IPU_JOB_WORKERS is 4"},
    {{"IPU_JOB_IPUS_PER_INSTANCE=0", NULL},
     "IPU_JOB_IPUS_PER_INSTANCE must be a number from 1 to 65536, got \"0\""},
    {{"IPU_JOB_WORKERS=2", NULL}, "IPU_JOB_IPUS_PER_INSTANCE is not set"},
    {{"IPU_JOB_REPLICAS_PER_WORKER=2", NULL}, "IPU_JOB_IPUS_PER_INSTANCE is not set"},
    {{"IPU_JOB_REPLICAS_PER_WORKER=1.5", NULL},
     "IPU_JOB_REPLICAS_PER_WORKER must be a number from 0 to 65536, got \"1.5\""},
    {{"IPU_JOB_IPUS_PER_INSTANCE=4", "IPU_JOB_WORKERS=3", NULL}, "4 IPUs cannot be divided among 3"},
    {{"IPU_JOB_IPUS_PER_INSTANCE=4", "IPU_JOB_WORKERS=2", "IPU_JOB_REPLICAS_PER_WORKER=4", NULL},
     "cannot be divided among 2 workers with 4 replicas each"},
    {{"IPU_JOB_IPUS_PER_INSTANCE=65536", "IPU_JOB_WORKERS=65536", "IPU_JOB_REPLICAS_PER_WORKER=65536", NULL},
     "cannot be divided"},
    {{"IPU_JOB_MASTER_ADDR=worker-0", NULL}, "IPU_JOB_MASTER_PORT is not set"},
    {{"IPU_JOB_MASTER_PORT=65536", NULL},
     "IPU_JOB_MASTER_PORT must be a number from 1 to 65535, got \"65536\""},
    {{"IPU_JOB_TARGET_OPTIONS=mesh", NULL}, "IPU_JOB_TARGET_OPTIONS must be a JSON object, got \"mesh\""},
    {{"IPU_JOB_TARGET_OPTIONS={\"a\":\"b\"", NULL}, "must be a JSON object"},
};

TEST(a_shape_that_makes_no_sense_is_rejected)
{
    CHECK_ROWS (row, bads) {
        AUTO(envv) struct envv env = {0};
        struct shape shape = {.workers = 77};
        struct err err;

        envv_init(&env, row->env);
        CHECK_ERR(shape_read(&env, &shape, &err), err, ERR_INVALID);
        CHECK_HAS(err.msg, row->part);
        CHECK_INT_EQ(shape.workers, 77);
    }
}

TEST(empty_texts_count_as_absent)
{
    static char *const entries[] = {"IPU_JOB_TARGET_OPTIONS=", "IPU_JOB_MASTER_ADDR=", NULL};
    AUTO(envv) struct envv env = {0};
    struct shape shape;
    struct err err;

    envv_init(&env, entries);
    CHECK_OK(shape_read(&env, &shape, &err), err);
    CHECK(!shape.target_options);
    CHECK(!shape.master_addr);
}

/* Even a value as long as an environment allows leaves the advice readable. */
TEST(a_long_value_is_cut_in_the_message)
{
    AUTO(str) struct str entry = {0};
    AUTO(envv) struct envv env = {0};
    char *entries[2] = {NULL, NULL};
    struct shape shape;
    struct err err;

    str_adds(&entry, "IPU_JOB_REPLICAS_PER_WORKER=");
    for (int i = 0; i < 100000; i++)
        str_addc(&entry, '9');
    entries[0] = entry.ptr;
    envv_init(&env, entries);
    CHECK_ERR(shape_read(&env, &shape, &err), err, ERR_INVALID);
    CHECK_HAS(err.msg, "remove it from the container's env");
}
