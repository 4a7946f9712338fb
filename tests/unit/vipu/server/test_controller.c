/* The state machine on a clock of the test's own. */
#include "lib/check.h"

#include <string.h>

#include "base/core/mem.h"
#include "vipu/server/config.h"
#include "vipu/server/controller.h"
#include "vipu/server/hardware.h"

struct bench {
    struct server_config config;
    struct controller c;
    struct strv problems;
    struct err err;
};

static void set_up(struct bench *b, const char *yaml)
{
    *b = (struct bench){0};
    CHECK(server_config_parse(slice_of(yaml), "test", &b->config, &b->problems));
    controller_init(&b->c, &b->config.clusters, b->config.times, b->config.max_auto_reset_retries);
}

static void tear_down(struct bench *b)
{
    controller_release(&b->c);
    server_config_release(&b->config);
    strv_release(&b->problems);
}

static bool create(struct bench *b, const char *id, uint32_t size, int64_t now)
{
    strv_release(&b->problems);
    return controller_create(&b->c, &(struct vipu_requirements){.id = id, .size = size}, now, &b->problems,
                             &b->err);
}

static const struct held *find(struct bench *b, const char *id)
{
    return controller_find(&b->c, id, &b->err);
}

TEST(operations_take_their_time)
{
    struct bench b;

    set_up(&b, "{create-ms: 100, remove-ms: 50, reset-ms: 70, clusters: [{id: a}]}");
    CHECK_OK(create(&b, "p", 4, 1000), b.err);
    CHECK_INT_EQ(controller_step(&b.c, 1099), 1100);
    CHECK_INT_EQ(find(&b, "p")->operation, VIPU_OPERATION_CREATING);
    CHECK_INT_EQ(controller_step(&b.c, 1100), -1);
    CHECK_INT_EQ(find(&b, "p")->partition.ready_state, VIPU_READY_ACTIVE);
    CHECK_OK(controller_reset(&b.c, "p", false, 2000, &b.err), b.err);
    CHECK_ERR(controller_reset(&b.c, "p", false, 2001, &b.err), b.err, ERR_CONFLICT);
    CHECK_INT_EQ(controller_step(&b.c, 2000), 2070);
    CHECK_INT_EQ(controller_step(&b.c, 2070), -1);
    CHECK_OK(controller_remove(&b.c, "p", false, 3000, &b.err), b.err);
    CHECK_OK(controller_remove(&b.c, "p", true, 3040, &b.err), b.err); /* does not begin anew */
    CHECK_ERR(create(&b, "p", 4, 3041), b.err, ERR_EXISTS);
    CHECK_INT_EQ(controller_step(&b.c, 3050), -1);
    CHECK(find(&b, "p") == NULL);
    CHECK_INT_EQ(b.err.kind, ERR_NOT_FOUND);
    tear_down(&b);
}

TEST(changes_are_told_once)
{
    struct bench b;

    set_up(&b, "{create-ms: 0, remove-ms: 0, clusters: [{id: a}]}");
    CHECK(!controller_has_changes(&b.c));
    CHECK_OK(create(&b, "p", 4, 0), b.err);
    CHECK(controller_has_changes(&b.c));
    controller_saved(&b.c);
    CHECK(!controller_has_changes(&b.c));
    controller_step(&b.c, 0);
    CHECK(controller_has_changes(&b.c));
    CHECK_OK(controller_remove(&b.c, "p", false, 0, &b.err), b.err);
    controller_saved(&b.c);
    controller_step(&b.c, 0);
    CHECK_INT_EQ(b.c.removed.count, 1);
    CHECK_STR_EQ(b.c.removed.items[0], "p");
    tear_down(&b);
}

TEST(every_reason_at_once)
{
    struct bench b;

    set_up(&b, "clusters: [{id: a}]");
    CHECK_ERR(controller_create(
                  &b.c, &(struct vipu_requirements){.id = "", .size = 3, .num_gcds = 5, .cluster_id = "x"}, 0,
                  &b.problems, &b.err),
              b.err, ERR_INVALID);
    CHECK_INT_EQ(b.problems.count, 5);
    tear_down(&b);
}

static uint64_t dice(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* No IPU twice, each where it exists, and the masks say what the partitions say. */
static void check_books(const struct bench *b)
{
    uint64_t seen[3] = {0};

    for (size_t i = 0; i < b->c.count; i++) {
        const struct vipu_partition *p = &b->c.list[i]->partition;

        CHECK(map_get(&b->c.by_id, p->id) == b->c.list[i]);
        for (uint32_t k = 0; k < p->size; k++) {
            uint64_t bit = (uint64_t)1 << p->ipus[k].topology_id;

            CHECK(p->ipus[k].domain_topology_id < 3);
            CHECK((seen[p->ipus[k].domain_topology_id] & bit) == 0);
            seen[p->ipus[k].domain_topology_id] |= bit;
        }
    }
    CHECK_INT_EQ(b->c.by_id.count, b->c.count);
    for (size_t d = 0; d < 3; d++)
        CHECK(b->c.occupancy.busy[0][d] == seen[d]);
}

TEST(random_requests_keep_the_books)
{
    struct bench b;
    uint64_t seed = 3;
    int64_t now = 0;

    set_up(
        &b,
        "{create-ms: 20, remove-ms: 30, reset-ms: 10, clusters: [{id: a, ipulink-domains: 3, agents: 45}]}");
    for (int round = 0; round < 20000; round++) {
        AUTO(mem) char *id = mem_printf("p%u", (unsigned)(dice(&seed) % 60));

        now += (int64_t)(dice(&seed) % 5);
        switch (dice(&seed) % 5) {
        case 0:
        case 1:
            if (!create(&b, id, 1u << dice(&seed) % 8, now))
                CHECK(b.err.kind == ERR_EXISTS || b.err.kind == ERR_BUSY || b.err.kind == ERR_INVALID);
            break;
        case 2:
            if (!controller_remove(&b.c, id, false, now, &b.err))
                CHECK_INT_EQ(b.err.kind, ERR_NOT_FOUND);
            break;
        case 3:
            if (!controller_reset(&b.c, id, false, now, &b.err))
                CHECK(b.err.kind == ERR_NOT_FOUND || b.err.kind == ERR_CONFLICT);
            break;
        default:
            controller_step(&b.c, now);
        }
        check_books(&b);
    }
    CHECK_INT_EQ(controller_step(&b.c, now + 1000), -1);
    check_books(&b);
    tear_down(&b);
}

static struct held *saved(const char *id, uint32_t first)
{
    struct held *held = NEW(struct held);

    held->partition = (struct vipu_partition){.id = mem_strdup(id),
                                              .cluster_id = mem_strdup("a"),
                                              .size = 2,
                                              .ready_state = VIPU_READY_PENDING,
                                              .ipus = mem_alloc(2 * sizeof(struct vipu_ipu))};
    held->partition.ipus[0].topology_id = first;
    held->partition.ipus[1].topology_id = first + 1;
    held->operation = VIPU_OPERATION_CREATING;
    held->number = first + 1;
    return held;
}

TEST(what_was_saved_comes_back)
{
    struct bench b;

    set_up(&b, "{create-ms: 10, clusters: [{id: a, agents: 4}]}");
    CHECK_OK(controller_restore_take(&b.c, saved("p1", 0), 100, &b.err), b.err);
    CHECK_ERR(controller_restore_take(&b.c, saved("p2", 1), 100, &b.err), b.err, ERR_INVALID);
    CHECK_HAS(b.err.msg, "another partition has");
    CHECK_ERR(controller_restore_take(&b.c, saved("p1", 8), 100, &b.err), b.err, ERR_INVALID);
    CHECK_OK(controller_restore_take(&b.c, saved("p3", 40), 100, &b.err),
             b.err); /* not in this pod any more */
    CHECK_INT_EQ(find(&b, "p3")->operation, VIPU_OPERATION_FAILED);
    CHECK_ERR(controller_reset(&b.c, "p3", false, 100, &b.err), b.err, ERR_CONFLICT);
    CHECK_INT_EQ(controller_step(&b.c, 100), 110);
    controller_step(&b.c, 110);
    CHECK_INT_EQ(find(&b, "p1")->partition.ready_state, VIPU_READY_ACTIVE);
    CHECK_OK(create(&b, "p4", 2, 200), b.err);
    CHECK_INT_EQ(find(&b, "p4")->number, 42);
    CHECK_OK(controller_remove(&b.c, "p3", false, 200, &b.err), b.err);
    controller_step(&b.c, 1000);
    CHECK(find(&b, "p3") == NULL);
    tear_down(&b);
}

TEST(the_default_configuration)
{
    struct server_config config = server_config_default();
    const struct vipu_cluster *cluster = &config.clusters.items[0];

    CHECK_STR_EQ(config.listen, ":8090");
    CHECK_INT_EQ(config.clusters.count, 1);
    CHECK_STR_EQ(cluster->id, "cl1");
    CHECK(cluster->torus);
    CHECK_INT_EQ(cluster->domain_count, 1);
    CHECK_INT_EQ(cluster->domains[0].machine_count, 16);
    CHECK_STR_EQ(cluster->domains[0].machines[15].name, "ag16");
    CHECK_STR_EQ(cluster->domains[0].machines[15].ipuof_ip, "10.1.5.25");
    CHECK_STR_EQ(cluster->allocations[0].id, "cl1");
    CHECK(cluster->allocations[0].usable[0] == UINT64_MAX);
    server_config_release(&config);
}
