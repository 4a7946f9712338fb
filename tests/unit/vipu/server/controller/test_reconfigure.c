/* Hardware that comes and goes under a running controller, at random. */
#include "lib/check.h"

#include "base/core/mem.h"
#include "vipu/server/config/config.h"
#include "vipu/server/controller/reconfigure.h"

#define SEEDS 200u
#define STEPS 60u

static const char *const texts[] = {
    "clusters: [{id: a, agents: 4}]",
    "clusters: [{id: a, agents: 8}]",
    "clusters: [{id: a, agents: 4, allocations: [{id: x, agents: [ag1, ag2]}]}]",
    "clusters: [{id: a, agents: 4, allocations: [{id: x, agents: [ag2]}, {id: y, agents: [ag3, ag4]}]}]",
    "clusters: [{id: b, agents: [z], ipuof-address: 10.9.0.1}, {id: a, agents: 4, ipuof-address: 10.1.5.10}]",
    "clusters: [{id: a, agents: 4, topology: mesh}]",
    "clusters: [{id: a, agents: [ag1, ag2, ag9, ag4]}]",
    "clusters: [{id: b, agents: [z]}]",
};
static const char *const allocations[] = {"", "a", "b", "x", "y"};

struct bench {
    struct server_config configs[COUNT_OF(texts)];
    struct controller c;
    uint32_t random;
};

static uint32_t roll(struct bench *b, uint32_t sides)
{
    b->random = b->random * 1664525u + 1013904223u;
    return (b->random >> 8) % sides;
}

static void set_up(struct bench *b, uint32_t seed)
{
    struct strv problems = {0};

    *b = (struct bench){.random = seed};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        CHECK(server_config_parse(slice_of(texts[i]), "test", &b->configs[i], &problems));
    controller_init(&b->c, &b->configs[0].clusters, (struct controller_times){0}, 3);
}

static void bench_release(struct bench *b)
{
    controller_release(&b->c);
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        server_config_release(&b->configs[i]);
}

DEFINE_AUTO(bench);

static const struct vipu_machine *machine_of(const struct controller_partition *entry, uint32_t n)
{
    const struct vipu_ipu *ipu = &entry->partition.ipus[n];

    return &entry->cluster->domains[ipu->domain_topology_id].machines[ipu->topology_id / VIPU_AGENT_IPUS];
}

/* What is taken is what the partitions have, and no IPU is in two of them. */
static void check_taken(const struct bench *b)
{
    for (size_t k = 0; k < b->c.clusters->count; k++) {
        const struct vipu_cluster *cluster = &b->c.clusters->items[k];
        uint64_t taken = 0;

        CONTROLLER_EACH (entry, &b->c) {
            for (uint32_t n = 0; entry->cluster == cluster && n < entry->partition.size; n++) {
                uint64_t bit = (uint64_t)1 << entry->partition.ipus[n].topology_id;

                CHECK(!(taken & bit));
                taken |= bit;
            }
        }
        CHECK(taken == vipu_allocator_taken(&b->c.allocator, cluster, 0));
    }
}

/* One line per partition: its place, and the machines there. */
static char *describe(const struct bench *b)
{
    struct str out = {0};

    CONTROLLER_EACH (entry, &b->c) {
        str_addf(&out, "%s %s", entry->partition.id, entry->partition.allocation_id);
        for (uint32_t n = 0; entry->cluster && n < entry->partition.size; n++)
            str_addf(&out, " %s %s %u", machine_of(entry, n)->name, machine_of(entry, n)->ipuof_ip,
                     entry->partition.ipus[n].topology_id);
        str_adds(&out, "\n");
    }
    return str_take(&out);
}

static void change(struct bench *b, int64_t now, size_t *taken_count, size_t *rejected_count)
{
    AUTO(strv) struct strv reasons = {0};
    AUTO(mem) char *before = describe(b);
    const struct vipu_clusters *last = b->c.clusters, *next = &b->configs[roll(b, COUNT_OF(texts))].clusters;
    bool is_taken = controller_reconfigure(&b->c, next, now, &reasons);
    AUTO(mem) char *after = describe(b);

    CHECK(b->c.clusters == (is_taken ? next : last));
    CHECK((reasons.count == 0) == is_taken);
    CHECK_STR_EQ(after, before);
    *(is_taken ? taken_count : rejected_count) += 1;
}

static void call(struct bench *b, int64_t now)
{
    AUTO(strv) struct strv problems = {0};
    AUTO(mem) char *id = mem_printf("p%u", roll(b, 6));
    struct vipu_requirements r = {.id = id, .size = 1u << roll(b, 4)};
    struct err err;

    r.allocation_id = allocations[roll(b, COUNT_OF(allocations))];
    if (roll(b, 3) == 0)
        (void)!controller_remove(&b->c, id, false, now, &err);
    else
        (void)!controller_create(&b->c, &r, now, &problems, &err);
}

TEST(partitions_notice_nothing)
{
    size_t taken = 0, rejected = 0;

    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        AUTO(bench) struct bench b;

        set_up(&b, seed);
        for (int64_t now = 0; now < STEPS; now++) {
            if (roll(&b, 4) == 0)
                change(&b, now, &taken, &rejected);
            else
                call(&b, now);
            controller_step(&b.c, now);
            check_taken(&b);
        }
    }
    CHECK(taken > SEEDS && rejected > SEEDS);
}

TEST(long_lists_of_reasons_are_cut)
{
    AUTO(strv) struct strv problems = {0};
    AUTO(strv) struct strv reasons = {0};
    AUTO(bench) struct bench b;
    struct err err;

    set_up(&b, 1);
    CHECK(controller_reconfigure(&b.c, &b.configs[1].clusters, 0, &reasons));
    for (uint32_t i = 0; i < 32; i++) {
        AUTO(mem) char *id = mem_printf("p%u", i);

        CHECK_OK(
            controller_create(&b.c, &(struct vipu_requirements){.id = id, .size = 1}, 0, &problems, &err),
            err);
    }
    CHECK(!controller_reconfigure(&b.c, &b.configs[7].clusters, 0, &reasons));
    CHECK_INT_EQ(reasons.count, 32);
    CHECK_HAS(reasons.items[31], "partition p31 is in cluster \"a\", which was removed");
}
