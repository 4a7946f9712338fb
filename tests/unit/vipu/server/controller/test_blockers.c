/* What a rejection says about those who are in the way. */
#include "lib/check.h"

#include "vipu/server/config/config.h"
#include "vipu/server/controller/blockers.h"

struct bench {
    struct server_config config;
    struct controller c;
};

static const char yaml[] = "{create-ms: 0, clusters: [{id: a, agents: 4, allocations: "
                           "[{id: left, agents: [ag1, ag2]}, {id: right, agents: [ag3, ag4]}]}]}";

static void create(struct bench *b, const char *id, uint32_t size, const char *allocation)
{
    struct strv problems = {0};
    struct err err;

    CHECK_OK(controller_create(
                 &b->c, &(struct vipu_requirements){.id = id, .size = size, .allocation_id = allocation}, 0,
                 &problems, &err),
             err);
    strv_release(&problems);
}

static void bench_init(struct bench *b)
{
    struct strv problems = {0};

    *b = (struct bench){0};
    CHECK(server_config_parse(SLICE_LIT(yaml), "test", &b->config, &problems));
    controller_init(&b->c, &b->config.clusters, b->config.times, b->config.max_auto_reset_retries);
    create(b, "p1", 4, "left");
    create(b, "p2", 1, "right");
}

static void bench_release(struct bench *b)
{
    controller_release(&b->c);
    server_config_release(&b->config);
}

static struct err explained(struct bench *b, const struct user *user, uint32_t size)
{
    struct err err = {0};

    err_set(&err, ERR_BUSY, "no room");
    blockers_explain(&b->c, user, &(struct vipu_requirements){.id = "p", .size = size}, &err);
    CHECK_INT_EQ(err.kind, ERR_BUSY);
    return err;
}

TEST_F(bench, b, a_rejection_names_the_cheapest_set)
{
    CHECK_STR_EQ(explained(b, NULL, 8).msg, "no room; blocked by p2");
    CHECK_STR_EQ(explained(b, NULL, 16).msg, "no room; blocked by p1 and p2");
    CHECK_STR_EQ(explained(b, NULL, 4).msg, "no room");  /* it fits as it is */
    CHECK_STR_EQ(explained(b, NULL, 32).msg, "no room"); /* it never will */
    create(b, "p3", 1, "right");
    CHECK_STR_EQ(explained(b, NULL, 16).msg, "no room; blocked by p1, p2 and p3");
    create(b, "p4", 1, "right");
    create(b, "p5", 1, "right");
    CHECK_STR_EQ(explained(b, NULL, 16).msg, "no room; blocked by p1, p2, p3 and 2 more");
}

TEST_F(bench, b, partitions_of_others_are_not_named)
{
    char left[] = "left", *mine[] = {left};
    struct user user = {.id = left, .allocations = {.items = mine, .count = 1, .cap = 1}};

    CHECK_STR_EQ(explained(b, &user, 16).msg, "no room");
    CHECK_STR_EQ(explained(b, &user, 8).msg, "no room"); /* p2, on the right */
}
