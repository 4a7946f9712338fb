#include "operator/pool/cordon.h"

#include "lib/check.h"

/* Two domains of 64 IPUs in one cluster; the first IPU of the second one is in use. */
static struct vipu_pool_view view_of(const char *cluster)
{
    static struct vipu_ipu ipu = {.domain_topology_id = 1};
    struct vipu_partition one = {.id = (char[]){"p"},
                                 .cluster_id = (char *)(uintptr_t)cluster,
                                 .size = 1,
                                 .ready_state = VIPU_READY_ACTIVE,
                                 .ipus = &ipu};
    const struct vipu_partitions list = {.items = &one, .count = cluster ? 1 : 0};

    return vipu_pool_view_of(&list, (struct vipu_pool_shape){.total_ipus = 128});
}

TEST(an_annotation_is_the_whole_controller_or_names)
{
    static const struct {
        const char *text;
        bool is_whole;
        size_t domains;
    } rows[] = {
        {NULL, false, 0},          {"", false, 0},          {"false", false, 0},
        {" , ", false, 0},         {"true", true, 0},       {" true\n", true, 0},
        {"ild0", false, 1},        {"ild0,ild1", false, 2}, {"True", false, 1},
        {"ild0 , ild1", false, 2}, {"true,ild1", false, 2},
    };

    CHECK_ROWS (row, rows) {
        AUTO(cordon) struct cordon cordon = {0};

        cordon_parse(row->text, &cordon);
        CHECK_INT_EQ(cordon.is_whole, row->is_whole);
        CHECK_INT_EQ(cordon.domains.count, row->domains);
        CHECK_INT_EQ(cordon_is_set(&cordon), row->is_whole || row->domains);
    }
}

TEST(what_is_cordoned_is_not_free)
{
    static const struct {
        const char *text, *cluster;
        uint32_t free, cordoned, largest;
    } rows[] = {
        {"", "c", 127, 0, 64},     {"true", "c", 0, 128, 0},      {"ild0", "c", 63, 64, 32},
        {"ild1", "c", 64, 64, 64}, {"ild0,ild1", "c", 0, 128, 0}, {"ild0 ild0", "c", 63, 64, 32},
        {"ild7", "c", 127, 0, 64}, {"ild0", NULL, 0, 128, 0},     {"ild0", "", 0, 128, 0},
    };

    CHECK_ROWS (row, rows) {
        AUTO(vipu_pool_view) struct vipu_pool_view view = view_of(row->cluster);
        AUTO(cordon) struct cordon cordon = {0};

        cordon_parse(row->text, &cordon);
        cordon_apply(&cordon, &view);
        CHECK_INT_EQ(view.free_ipus, row->free);
        CHECK_INT_EQ(view.cordoned_ipus, row->cordoned);
        CHECK_INT_EQ(vipu_pool_largest_free(&view), row->largest);
        CHECK_INT_EQ(vipu_pool_capacity(&view), 128); /* a job that needs all of it waits */
    }
}

TEST(new_partitions_are_placed_beside_a_cordoned_domain)
{
    AUTO(vipu_pool_view) struct vipu_pool_view view = view_of("c");
    AUTO(cordon) struct cordon cordon = {0};
    struct vipu_ipu ipus[64];

    cordon_parse("ild0", &cordon);
    cordon_apply(&cordon, &view);
    CHECK(!vipu_pool_find(&view, 64, ipus));
    CHECK_STR_EQ(vipu_pool_find(&view, 2, ipus), "c");
    CHECK_INT_EQ(ipus[0].domain_topology_id, 1);
    CHECK_INT_EQ(ipus[0].topology_id, 2);
    CHECK_INT_EQ(ipus[1].topology_id, 3);
    CHECK_INT_EQ(ipus[1].routing_id, 1);
    CHECK_INT_EQ(ipus[1].domain_routing_id, 0);
}

TEST(nobody_is_blamed_for_ipus_that_stay_cordoned)
{
    AUTO(vipu_pool_view) struct vipu_pool_view view = view_of("c");
    struct vipu_ipu ipu = {.domain_topology_id = 1};
    struct vipu_partition one = {
        .cluster_id = (char[]){"c"}, .size = 1, .ready_state = VIPU_READY_ACTIVE, .ipus = &ipu};
    const struct vipu_partitions list = {.items = &one, .count = 1};
    AUTO(cordon) struct cordon cordon = {0};
    size_t blocker;

    cordon_parse("ild0", &cordon);
    cordon_apply(&cordon, &view);
    CHECK_INT_EQ(vipu_pool_blockers(&view, &list, 64, &blocker), 1);
    cordon_release(&cordon);
    cordon_parse("ild0,ild1", &cordon);
    cordon_apply(&cordon, &view);
    CHECK_INT_EQ(vipu_pool_blockers(&view, &list, 64, &blocker), 0);
}

TEST(names_that_are_no_domains_are_found)
{
    AUTO(vipu_pool_view) struct vipu_pool_view view = view_of("c");
    AUTO(cordon) struct cordon cordon = {0};
    AUTO(strv) struct strv unknown = {0};

    cordon_parse("ild0,ild2,c/ild1", &cordon);
    cordon_find_unknown(&cordon, &view, &unknown);
    CHECK_INT_EQ(unknown.count, 2);
    CHECK_STR_EQ(unknown.items[0], "ild2");
}

/* Both clusters have partitions: domains then have the cluster's name. */
TEST(domains_of_several_clusters_have_their_names)
{
    struct vipu_ipu ipu = {0}, other = {0};
    struct vipu_partition two[] = {{.id = (char[]){"a"},
                                    .cluster_id = (char[]){"x"},
                                    .size = 1,
                                    .ready_state = VIPU_READY_ACTIVE,
                                    .ipus = &ipu},
                                   {.id = (char[]){"b"},
                                    .cluster_id = (char[]){"y"},
                                    .size = 1,
                                    .ready_state = VIPU_READY_ACTIVE,
                                    .ipus = &other}};
    const struct vipu_partitions list = {.items = two, .count = 2};
    AUTO(vipu_pool_view)
    struct vipu_pool_view view = vipu_pool_view_of(&list, (struct vipu_pool_shape){.total_ipus = 160});
    static const struct {
        const char *name;
        uint32_t size;
    } rows[] = {{"x/ild0", 64}, {"y/ild0", 64}, {"y/ild1", 32}};
    struct vipu_pool_domain domain;
    size_t at = 0;
    AUTO(cordon) struct cordon cordon = {0};

    CHECK_ROWS (row, rows) {
        CHECK(vipu_pool_next_domain(&view, &at, &domain));
        AUTO(mem) char *name = cordon_domain_name(&view, &domain);

        CHECK_STR_EQ(name, row->name);
        CHECK_INT_EQ(domain.size, row->size);
    }
    CHECK(!vipu_pool_next_domain(&view, &at, &domain));
    cordon_parse("ild0", &cordon);
    cordon_apply(&cordon, &view);
    CHECK_INT_EQ(view.cordoned_ipus, 128);
}
