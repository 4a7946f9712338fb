#include "lib/check.h"

#include "base/core/mem.h"
#include "vipu/cli/commands/partition_index.h"

static char cluster_name[] = "odd";
static struct vipu_domain_entry domains[] = {{.size = 8}, {.size = 12}, {.size = 2}, {.size = 4}};
static const struct vipu_cluster_entry odd = {.id = cluster_name, .domains = domains, .domain_count = 4};

TEST(an_index_counts_through_the_domains_of_its_cluster)
{
    static const struct {
        uint32_t size, index, domain, first;
    } rows[] = {
        {4, 0, 0, 0}, {4, 1, 0, 4}, {4, 2, 1, 0},  {4, 4, 1, 8}, {4, 5, 3, 0}, /* not the domain of two */
        {8, 1, 1, 0}, {1, 8, 1, 0}, {1, 25, 3, 3},
    };

    CHECK_ROWS (row, rows) {
        struct vipu_requirements r = {.size = row->size};
        AUTO(mem) struct vipu_ipu *ipus = NULL;
        struct err err;

        CHECK(partition_index_resolve(&odd, row->index, &r, &ipus, &err));
        CHECK(r.ipus == ipus && r.ipu_count == row->size);
        CHECK_INT_EQ(ipus[0].domain_topology_id, row->domain);
        CHECK_INT_EQ(ipus[row->size - 1].topology_id, row->first + row->size - 1);
        CHECK_INT_EQ(ipus[row->size - 1].routing_id, row->size - 1);
        CHECK_INT_EQ(ipus[0].domain_routing_id, 0);
    }
}

TEST(an_index_beyond_the_last_place)
{
    static const uint32_t rows[][2] = {{8, 2}, {4, 6}, {16, 0}, {64, 65536}};
    struct err err;

    CHECK_ROWS (row, rows) {
        struct vipu_requirements r = {.size = (*row)[0]};
        struct vipu_ipu *ipus = NULL;

        CHECK(!partition_index_resolve(&odd, (*row)[1], &r, &ipus, &err));
        CHECK(!ipus && r.ipu_count == 0);
        CHECK_HAS(err.msg, "is out of range: cluster \"odd\" has");
    }
}

TEST(a_controller_that_cannot_report_has_domains_of_64)
{
    struct vipu_requirements r = {.size = 16};
    AUTO(mem) struct vipu_ipu *ipus = NULL;
    struct err err;

    CHECK(partition_index_resolve(NULL, 5, &r, &ipus, &err));
    CHECK_INT_EQ(ipus[0].domain_topology_id, 1);
    CHECK_INT_EQ(ipus[0].topology_id, 16);
    CHECK_INT_EQ(ipus[15].routing_id, 15);
}
