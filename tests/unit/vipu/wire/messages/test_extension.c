/* The messages of our extension service to bytes and back. */
#include "lib/check.h"

#include "base/core/mem.h"
#include "vipu/wire/messages/extension.h"
#include "vipu/wire/messages/requests.h"

static char *name(const char *text)
{
    return mem_strdup(text);
}

TEST(allocations_travel)
{
    struct vipu_allocation_entry first = {.id = name("left"), .cluster_id = name("cl1")};
    struct vipu_allocation_entry second = {.id = name("no\nne"), .cluster_id = name("")};
    AUTO(vipu_allocation_list) struct vipu_allocation_list got = {0};
    AUTO(str) struct str out = {0};
    struct err err;

    strv_push(&first.agents, "ag1");
    strv_push(&first.agents, "ag.13.01");
    CHECK(wire_put_allocation(&first, &out) && wire_put_allocation(&second, &out));
    CHECK_OK(wire_get_allocations(str_slice(&out), WIRE_EXTENSION_BUDGET, &got, &err), err);
    CHECK_INT_EQ(got.count, 2);
    CHECK_STR_EQ(got.items[0].id, "left");
    CHECK_STR_EQ(got.items[0].cluster_id, "cl1");
    CHECK_INT_EQ(got.items[0].agents.count, 2);
    CHECK_STR_EQ(got.items[0].agents.items[1], "ag.13.01");
    CHECK_STR_EQ(got.items[1].id, "no?ne");
    CHECK_INT_EQ(got.items[1].agents.count, 0);
    vipu_allocation_list_release(&(struct vipu_allocation_list){mem_dup(&first, sizeof(first)), 1});
    vipu_allocation_list_release(&(struct vipu_allocation_list){mem_dup(&second, sizeof(second)), 1});
}

TEST(clusters_travel)
{
    struct vipu_domain_entry domains[2] = {{.ipu_count = 8, .size = 16}, {.ipu_count = 64, .size = 64}};
    struct vipu_cluster_entry cluster = {name("2xPOD64"), name("torus"), name("looped"), domains, 2};
    AUTO(vipu_cluster_list) struct vipu_cluster_list got = {0};
    AUTO(str) struct str out = {0};
    struct err err;

    strv_push(&domains[0].agents, "ag1");
    strv_push(&domains[0].agents, "ag2");
    CHECK(wire_put_cluster(&cluster, &out));
    CHECK_OK(wire_get_clusters(str_slice(&out), WIRE_EXTENSION_BUDGET, &got, &err), err);
    CHECK_INT_EQ(got.count, 1);
    CHECK_STR_EQ(got.items[0].id, "2xPOD64");
    CHECK_STR_EQ(got.items[0].topology, "torus");
    CHECK_STR_EQ(got.items[0].cluster_topology, "looped");
    CHECK_INT_EQ(got.items[0].domain_count, 2);
    CHECK_STR_EQ(got.items[0].domains[0].agents.items[1], "ag2");
    CHECK_INT_EQ(got.items[0].domains[1].ipu_count, 64);
    CHECK_INT_EQ(got.items[0].domains[0].size, 16);
    strv_release(&domains[0].agents);
    mem_free(cluster.id);
    mem_free(cluster.topology);
    mem_free(cluster.cluster_topology);
}

TEST(capacity_travels)
{
    struct vipu_fit fits[] = {{1, 63}, {2, 31}, {64, 0}};
    struct vipu_capacity capacity = {64, 63, fits, 3};
    AUTO(vipu_capacity) struct vipu_capacity got = {0};
    AUTO(arena) struct arena arena = {.budget = WIRE_REQUEST_BUDGET};
    AUTO(str) struct str request = {0}, reply = {0};
    struct wire_place place;
    struct err err;

    wire_put_capacity_request(&(struct wire_place){.allocation_id = "left"}, &request);
    CHECK_OK(wire_get_capacity_request(str_slice(&request), &arena, &place, &err), err);
    CHECK_STR_EQ(place.cluster_id, "");
    CHECK_STR_EQ(place.allocation_id, "left");
    CHECK(wire_put_capacity(&capacity, &reply));
    CHECK_OK(wire_get_capacity(str_slice(&reply), WIRE_EXTENSION_BUDGET, &got, &err), err);
    CHECK_INT_EQ(got.total_ipus, 64);
    CHECK_INT_EQ(got.free_ipus, 63);
    CHECK_INT_EQ(got.fit_count, 3);
    CHECK_INT_EQ(got.fits[1].count, 31);
    CHECK_INT_EQ(got.fits[2].size, 64);
}

TEST(bytes_that_are_no_reply)
{
    AUTO(vipu_allocation_list) struct vipu_allocation_list allocations = {0};
    AUTO(vipu_cluster_list) struct vipu_cluster_list clusters = {0};
    AUTO(vipu_capacity) struct vipu_capacity capacity = {0};
    static const struct slice rubbish = {"\xff\xff\xff", 3}, many = {"\x0a\x00\x0a\x00\x0a\x00", 6};
    static const struct slice vast = {"\x0a\x08\x22\x06\x10\xff\xff\xff\xff\x0f", 10};
    AUTO(arena) struct arena arena = {.budget = WIRE_REQUEST_BUDGET};
    struct err err;

    CHECK_ERR(wire_get_allocations(rubbish, WIRE_EXTENSION_BUDGET, &allocations, &err), err, ERR_IO);
    CHECK_ERR(wire_get_clusters(rubbish, WIRE_EXTENSION_BUDGET, &clusters, &err), err, ERR_IO);
    CHECK_ERR(wire_get_capacity(rubbish, WIRE_EXTENSION_BUDGET, &capacity, &err), err, ERR_IO);
    CHECK_ERR(wire_get_clusters(vast, WIRE_EXTENSION_BUDGET, &clusters, &err), err, ERR_IO);
    /* Small on the wire, large in memory. */
    CHECK_ERR(wire_get_allocations(many, 100, &allocations, &err), err, ERR_IO);
    CHECK_ERR(wire_get_nothing(rubbish, &arena, &err), err, ERR_INVALID);
}
