#include "launcher/poprun/plan/partition.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

struct job {
    uint32_t replicas, ipus, instances, ilds, hosts;
};

static struct poprun_options options_of(const struct job *job)
{
    return (struct poprun_options){.num_replicas = job->replicas,
                                   .ipus_per_replica = job->ipus,
                                   .num_instances = job->instances,
                                   .num_ilds = job->ilds};
}

static struct vipu_partition partition_of(uint32_t size, uint32_t gcds, uint32_t ilds)
{
    return (struct vipu_partition){.id = mem_strdup("p"),
                                   .size = size,
                                   .num_gcds = gcds ? gcds : 1,
                                   .num_ilds = ilds,
                                   .num_replicas = 1,
                                   .reconfigurable = gcds == 0,
                                   .ready_state = VIPU_READY_ACTIVE};
}

#define RECONFIGURE "set spec.partition.reconfigurable: true"

/* gcds 0: reconfigurable. */
static const struct {
    uint32_t size, gcds, ilds;
    struct job job;
    bool in_job;
    const char *problem, *remedy; /* NULL: it fits */
} fits[] = {
    {16, 0, 1, {8, 2, 1, 0, 1}, false, NULL, NULL},
    {16, 0, 1, {8, 2, 2, 0, 1}, false, NULL, NULL},
    {16, 0, 1, {8, 2, 4, 0, 1}, false, NULL, NULL},
    {16, 0, 1, {2, 1, 2, 0, 1}, false, NULL, NULL},
    {16, 1, 1, {8, 2, 1, 0, 1}, true, NULL, NULL},
    {16, 2, 1, {8, 2, 2, 0, 1}, true, NULL, NULL},
    {16, 4, 1, {8, 2, 4, 0, 1}, true, NULL, NULL},
    {32, 2, 2, {32, 1, 2, 2, 1}, false, NULL, NULL}, /* the guide's example */
    {16, 0, 1, {8, 2, 2, 0, 2}, false, NULL, NULL},
    {16,
     1,
     1,
     {8, 2, 2, 0, 1},
     true,
     "partition p has 1 GCD for 2 instances, but each instance needs one; ",
     RECONFIGURE " or spec.partition.gcds: 2 in the IPUJob"},
    {16,
     1,
     1,
     {8, 2, 4, 0, 1},
     true,
     "1 GCD for 4 instances",
     RECONFIGURE " or spec.partition.gcds: 4 in the IPUJob"},
    {16,
     2,
     1,
     {8, 2, 1, 0, 1},
     true,
     "2 GCDs for 1 instance, ",
     RECONFIGURE " or spec.partition.gcds: 1 in the IPUJob"},
    {16, 1, 1, {8, 2, 4, 0, 1}, false, "1 GCD for 4 instances", "; --update-partition=yes replaces it"},
    /* More GCDs are no remedy where their devices would not fit, or their number is no power of two. */
    {16, 1, 1, {4, 1, 2, 0, 1}, true, "1 GCD for 2 instances", RECONFIGURE " in the IPUJob"},
    {16, 1, 1, {3, 1, 3, 0, 1}, true, "1 GCD for 3 instances", RECONFIGURE " in the IPUJob"},
    {16,
     1,
     1,
     {4, 1, 4, 0, 1},
     true,
     "1 GCD for 4 instances",
     RECONFIGURE " or spec.partition.gcds: 4 in the IPUJob"},
    /* One IPU of a GCD or all of them, but nothing between. */
    {16, 1, 1, {1, 1, 1, 0, 1}, true, NULL, NULL},
    {16, 4, 1, {4, 1, 4, 0, 1}, true, NULL, NULL},
    {16,
     1,
     1,
     {4, 1, 1, 0, 1},
     false,
     "partition p has devices of 1 and of 16 IPUs and none of 4 for an instance; ",
     "--update-partition=yes replaces it"},
    {16, 1, 1, {4, 1, 1, 0, 1}, true, "none of 4 for an instance", RECONFIGURE " in the IPUJob"},
    {8,
     0,
     1,
     {8, 2, 1, 0, 1},
     false,
     "partition p has 8 IPUs and 8 replicas of 2 IPUs need 16; ",
     "--update-partition=yes replaces it"},
    {8, 1, 1, {8, 2, 1, 0, 1}, true, "need 16; ", "request more with spec.ipusPerJobInstance in the IPUJob"},
    {32,
     2,
     1,
     {32, 1, 2, 2, 1},
     false,
     "partition p has 1 IPU-Link domain and --num-ilds is 2",
     "--update-partition=yes replaces it"},
    /* graphcore/examples, applications/pytorch/vit/README_Benchmarks.md: --num-ilds=8 with 4 instances */
    {64, 4, 4, {16, 4, 4, 8, 1}, false, NULL, NULL},
    {64,
     8,
     8,
     {16, 4, 4, 8, 1},
     false,
     "partition p has 8 IPU-Link domains and --num-ilds is 8 (at most one for each instance)",
     "--update-partition=yes replaces it"},
    {32, 2, 1, {32, 1, 2, 2, 1}, true, "--num-ilds is 2", "remove --num-ilds"},
    {16, 0, 1, {3, 1, 1, 0, 1}, false, "none of 3 for an instance", "so that it is a power of two"},
    {65536, 0, 1, {65536, 65536, 1, 0, 1}, false, "need 4294967296", "--update-partition=yes"},
};

/* On record: 32 replicas in 2 instances need 32 IPUs, and each instance a device of 16; sizes that are no
 * power of two, or larger than the partition, fail. */
TEST(a_partition_fits_or_the_message_names_what_would)
{
    CHECK_ROWS (row, fits) {
        struct poprun_options options = options_of(&row->job);
        struct vipu_partition partition = partition_of(row->size, row->gcds, row->ilds);
        struct err err = {0};
        bool good = partition_check(&partition, &options, row->job.hosts, row->in_job, &err);

        mem_free(partition.id);
        CHECK_STR_EQ(good ? NULL : "no", row->problem ? "no" : NULL);
        if (row->problem) {
            CHECK_HAS(err.msg, row->problem);
            CHECK_HAS(err.msg, row->remedy);
        }
    }
}

/* CosmicTagger, ALCF and the tutorial: partition of N IPUs, job, parent, its IPUs, children. */
static const struct {
    uint32_t size;
    struct job job;
    uint32_t id, count, children, child_size;
} parents[] = {
    {64, {1, 1, 1, 0, 1}, 0, 64, 1, 1},     {64, {2, 1, 2, 0, 1}, 64, 32, 2, 1},
    {64, {4, 1, 4, 0, 1}, 96, 16, 4, 1},    {64, {8, 1, 8, 0, 1}, 112, 8, 8, 1},
    {64, {16, 1, 16, 0, 1}, 120, 4, 16, 1}, {4, {4, 1, 1, 0, 1}, 6, 1, 1, 4},
    {16, {8, 2, 4, 0, 1}, 30, 1, 4, 4},     {16, {8, 2, 4, 0, 2}, 28, 2, 2, 4},
};

/* On record: in a partition of 4 IPUs the device of 4 is number 6; in a partition of 64 IPUs the parents
 * of 1, 2, 4, 8 and 16 IPUs are 0, 64, 96, 112 and 120. */
TEST(the_parent_device_is_that_of_the_record)
{
    CHECK_ROWS (row, parents) {
        struct poprun_options options = options_of(&row->job);
        struct vipu_partition partition = partition_of(row->size, 0, 1);
        struct parent parent = partition_parent(&partition, &options, row->job.hosts);

        mem_free(partition.id);
        CHECK_INT_EQ(parent.first_id, row->id);
        CHECK_INT_EQ(parent.count, row->count);
        CHECK_INT_EQ(parent.children, row->children);
        CHECK_INT_EQ(parent.child_size, row->child_size);
    }
}

/* EIDF, ALCF, CosmicTagger: IPUs of the partition, instances. */
static const struct {
    uint32_t size, instances;
    enum vipu_routing routing;
    const char *options;
} targets[] = {
    {64, 1, VIPU_ROUTING_RINGSWNC, "64,slidingWindow,torus,true,64"},
    {4, 1, VIPU_ROUTING_DNC, "4,default,mesh,true,4"},
    {64, 1, VIPU_ROUTING_SWNC, "64,slidingWindow,mesh,true,64"},
    {64, 2, VIPU_ROUTING_SWNC, "64,slidingWindow,mesh,true,32"},
    {64, 4, VIPU_ROUTING_SWNC, "64,slidingWindow,mesh,true,16"},
    {64, 8, VIPU_ROUTING_SWNC, "64,slidingWindow,mesh,true,8"},
    {64, 16, VIPU_ROUTING_SWNC, "64,slidingWindow,mesh,true,4"},
};

/* The values alone, with commas between them. */
static void values_of(const char *json, struct str *out)
{
    for (const char *at = strstr(json, "\":\""); at; at = strstr(at, "\":\"")) {
        size_t len = strcspn(at + 3, "\"");

        (void)str_addf(out, "%s%.*s", out->len ? "," : "", (int)len, at + 3);
        at += 3 + len;
    }
}

/* On record: the partition's instanceSize is its IPUs / instances: 64, 32, 16, 8 and 4 for 1 to 16
 * instances on 64; ipuLinkConfiguration is default or slidingWindow, ipuLinkTopology mesh or torus,
 * gatewayMode true; 64 IPUs in one GCD: 64, slidingWindow, torus, true, 64; 4 reconfigurable ones: 4,
 * default, mesh, true, 4. */
TEST(target_options_are_those_of_the_record)
{
    CHECK_ROWS (row, targets) {
        struct vipu_partition partition = partition_of(row->size, 1, 1);
        AUTO(str) struct str text = {0};

        partition.routing = row->routing;
        AUTO(mem) char *json = partition_target_options(&partition, row->instances);

        mem_free(partition.id);
        values_of(json, &text);
        CHECK_STR_EQ(str_text(&text), row->options);
        CHECK(str_has_prefix(json, "{\"ipuLinkDomainSize\":\""));
    }
}
