#include "popdist/popdist.h"

#include <stdlib.h>
#include <string.h>

#include "lib/check.h"

#define ENTRIES 8

/* The environment without anything that a launcher writes, and then these. */
static void set_env(const char *const *entries)
{
    static const char *const names[] = {
        "POPDIST_NUM_TOTAL_REPLICAS",   "POPDIST_NUM_LOCAL_REPLICAS",
        "POPDIST_NUM_IPUS_PER_REPLICA", "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE",
        "POPDIST_NODE_DEVICE_ID",       "POPDIST_REPLICA_INDEX_OFFSET",
        "POPDIST_LOCAL_INSTANCE_INDEX", "POPLAR_TARGET_OPTIONS",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK_INT_EQ(unsetenv(names[i]), 0);
    for (; *entries; entries++) {
        char name[64] = "";
        const char *equals = strchr(*entries, '=');

        memcpy(name, *entries, (size_t)(equals - *entries));
        CHECK_INT_EQ(setenv(name, equals + 1, 1), 0);
    }
}

struct place {
    const char *env[ENTRIES];
    bool is_set;
    uint32_t total, local, ipus, offset, instances, index, local_index;
};

static const struct place places[] = {
    {{NULL}, false, 1, 1, 1, 0, 1, 0, 0},
    {{"POPDIST_NUM_TOTAL_REPLICAS=", NULL}, false, 1, 1, 1, 0, 1, 0, 0},
    {{"POPDIST_NUM_TOTAL_REPLICAS=1", NULL}, true, 1, 1, 1, 0, 1, 0, 0},
    {{"POPDIST_NUM_TOTAL_REPLICAS=8", "POPDIST_NUM_LOCAL_REPLICAS=2", "POPDIST_NUM_IPUS_PER_REPLICA=2",
      "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1", "POPDIST_REPLICA_INDEX_OFFSET=6",
      "POPDIST_LOCAL_INSTANCE_INDEX=1", NULL},
     true,
     8,
     2,
     2,
     6,
     4,
     3,
     1},
};

static uint32_t number(enum popdist_status (*query)(uint32_t *, struct popdist_error *))
{
    struct popdist_error error = {0};
    uint32_t got = 0;

    if (query(&got, &error))
        CHECK_FAIL("%s", error.text);
    return got;
}

/* On record: the number of instances is all replicas / its replicas. */
TEST(the_environment_describes_an_instance)
{
    CHECK_ROWS (row, places) {
        set_env(row->env);
        CHECK_INT_EQ(popdist_is_env_set(), row->is_set);
        CHECK_INT_EQ(number(popdist_num_total_replicas), row->total);
        CHECK_INT_EQ(number(popdist_num_local_replicas), row->local);
        CHECK_INT_EQ(number(popdist_num_ipus_per_replica), row->ipus);
        CHECK_INT_EQ(number(popdist_replica_index_offset), row->offset);
        CHECK_INT_EQ(number(popdist_num_instances), row->instances);
        CHECK_INT_EQ(number(popdist_instance_index), row->index);
        CHECK_INT_EQ(number(popdist_local_instance_index), row->local_index);
    }
}

struct mistake {
    const char *env[ENTRIES];
    enum popdist_status (*query)(uint32_t *, struct popdist_error *);
    const char *says;
};

static const struct mistake mistakes[] = {
    {{"POPDIST_NUM_TOTAL_REPLICAS=x", NULL},
     popdist_num_total_replicas,
     "POPDIST_NUM_TOTAL_REPLICAS must be a number from 1 to 1048576, got \"x\""},
    {{"POPDIST_NUM_TOTAL_REPLICAS=-1", NULL}, popdist_num_total_replicas, "must be a number from 1"},
    {{"POPDIST_NUM_TOTAL_REPLICAS= 1", NULL}, popdist_num_total_replicas, "must be a number from 1"},
    {{"POPDIST_NUM_TOTAL_REPLICAS=0", NULL}, popdist_num_total_replicas, "must be a number from 1"},
    {{"POPDIST_NUM_TOTAL_REPLICAS=99999999999999999999", NULL},
     popdist_num_total_replicas,
     "must be a number from 1"},
    {{"POPDIST_NUM_TOTAL_REPLICAS=3", "POPDIST_NUM_LOCAL_REPLICAS=2", NULL},
     popdist_num_instances,
     "is not a multiple of"},
    {{"POPDIST_NUM_TOTAL_REPLICAS=4", "POPDIST_NUM_LOCAL_REPLICAS=2", "POPDIST_REPLICA_INDEX_OFFSET=1", NULL},
     popdist_instance_index,
     "POPDIST_REPLICA_INDEX_OFFSET is 1"},
    {{"POPDIST_NUM_TOTAL_REPLICAS=4", "POPDIST_NUM_LOCAL_REPLICAS=2", "POPDIST_REPLICA_INDEX_OFFSET=4", NULL},
     popdist_instance_index,
     "one of 2 instances"},
    {{"POPDIST_NUM_TOTAL_REPLICAS=3", "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=0", NULL},
     popdist_num_instances,
     "different numbers of replicas"},
    {{"POPDIST_NUM_TOTAL_REPLICAS=3", "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=0", NULL},
     popdist_instance_index,
     "different numbers of replicas"},
};

/* On record: index and number of instances are for uniform replicas only. */
TEST(an_environment_that_makes_no_sense_is_rejected)
{
    CHECK_ROWS (row, mistakes) {
        struct popdist_error error = {0};
        uint32_t got = 77;

        set_env(row->env);
        CHECK_INT_EQ(row->query(&got, &error), POPDIST_INVALID);
        CHECK_INT_EQ(error.status, POPDIST_INVALID);
        CHECK_HAS(error.text, row->says);
        CHECK_INT_EQ(got, 77);
        CHECK_INT_EQ(row->query(&got, NULL), POPDIST_INVALID);
    }
}

/* On record: checkNumIpusPerReplica(n) is False when the variable says another number. */
TEST(ipus_per_replica_are_checked_only_when_the_launcher_set_them)
{
    static const char *const without[] = {NULL}, *const with[] = {"POPDIST_NUM_IPUS_PER_REPLICA=4", NULL};
    bool fits = false;

    set_env(without);
    CHECK_INT_EQ(popdist_check_num_ipus_per_replica(16, &fits, NULL), POPDIST_OK);
    CHECK(fits);
    set_env(with);
    CHECK_INT_EQ(popdist_check_num_ipus_per_replica(4, &fits, NULL), POPDIST_OK);
    CHECK(fits);
    CHECK_INT_EQ(popdist_check_num_ipus_per_replica(2, &fits, NULL), POPDIST_OK);
    CHECK(!fits);
}

struct device {
    const char *parent, *total, *local, *ipus, *index, *local_size, *options;
    uint32_t asked, want;
};

static const struct device devices[] = {
    /* Four instances of two replicas with two IPUs, on 16 IPUs. */
    {"30", "8", "2", "2", "0", "", "", 0, 24},
    {"30", "8", "2", "2", "1", "", "", 0, 25},
    {"30", "8", "2", "2", "3", "", "", 0, 27},
    /* Others hold the first 4 IPUs, or all but the last pair of the first 8. */
    {"29", "4", "2", "2", "0", "", "", 0, 26},
    {"29", "4", "2", "2", "1", "", "", 0, 27},
    {"19", "2", "1", "1", "0", "", "", 0, 6},
    {"19", "2", "1", "1", "1", "", "", 0, 7},
    /* Parents of 1, 2, 4, 8 and 16 IPUs in a partition of 64. */
    {"0", "1", "1", "1", "0", "", "", 0, 0},
    {"5", "1", "1", "1", "0", "", "", 0, 5},
    {"64", "2", "1", "1", "1", "", "", 0, 1},
    {"65", "2", "1", "1", "1", "", "", 0, 3},
    {"120", "16", "1", "1", "15", "", "", 0, 15},
    {"120", "4", "1", "4", "2", "", "", 0, 98},
    /* One instance is its parent. */
    {"6", "4", "4", "1", "0", "", "", 0, 6},
    /* Two hosts with two instances each. */
    {"112", "4", "1", "4", "1", "2", "", 0, 97},
    /* Fixed partition: the compile domain's one device. */
    {"", "16", "16", "1", "0", "", "", 0, 16},
    {"", "2", "1", "1", "0", "", "", 0, 0},
    {"", "2", "1", "1", "0", "", "", 4, 4},
    /* Without poprun. */
    {"", "", "", "", "", "", "", 0, 0},
    {"", "", "", "", "", "", "", 1, 0},
    {"", "", "", "", "", "", "{\"gatewayMode\":\"true\",\"instanceSize\":\"16\"}", 4, 24},
};

static void set_or_not(const char *name, const char *value)
{
    CHECK_INT_EQ(*value ? setenv(name, value, 1) : unsetenv(name), 0);
}

/* On record: on 16 IPUs four instances of 4 have the devices 24, 25, 26 and 27; getDeviceId(0) takes the
 * number of IPUs from the environment. */
TEST(devices_are_numbered_as_the_partition_numbers_them)
{
    CHECK_ROWS (row, devices) {
        struct popdist_error error = {0};
        uint32_t got = 0;

        set_or_not("POPDIST_NODE_DEVICE_ID", row->parent);
        set_or_not("POPDIST_NUM_TOTAL_REPLICAS", row->total);
        set_or_not("POPDIST_NUM_LOCAL_REPLICAS", row->local);
        set_or_not("POPDIST_NUM_IPUS_PER_REPLICA", row->ipus);
        set_or_not("POPDIST_LOCAL_INSTANCE_INDEX", row->index);
        set_or_not("OMPI_COMM_WORLD_LOCAL_SIZE", row->local_size);
        set_or_not("POPLAR_TARGET_OPTIONS", row->options);
        if (popdist_device_id(row->asked, &got, &error))
            CHECK_FAIL("%s", error.text);
        CHECK_INT_EQ(got, row->want);
    }
}

static const struct mistake no_devices[] = {
    {{"POPDIST_NUM_TOTAL_REPLICAS=2", "POPDIST_NODE_DEVICE_ID=9", "POPDIST_LOCAL_INSTANCE_INDEX=2", NULL},
     NULL,
     "POPDIST_NODE_DEVICE_ID"},
    {{"POPDIST_NUM_TOTAL_REPLICAS=3", "POPDIST_NODE_DEVICE_ID=9", NULL}, NULL, "powers of two"},
    {{"POPDIST_NUM_LOCAL_REPLICAS=1048576", "POPDIST_NUM_IPUS_PER_REPLICA=1048576", NULL},
     NULL,
     "more than any"},
    {{"POPDIST_NUM_IPUS_PER_REPLICA=4", NULL}, NULL, "depends on the partition"},
};

TEST(a_device_that_cannot_be_determined_is_an_error)
{
    CHECK_ROWS (row, no_devices) {
        struct popdist_error error = {0};
        uint32_t got = 77;

        set_env(row->env);
        CHECK_INT_EQ(popdist_device_id(0, &got, &error), POPDIST_INVALID);
        CHECK_HAS(error.text, row->says);
        CHECK_INT_EQ(got, 77);
    }
}
