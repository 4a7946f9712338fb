#include "launcher/poprun/plan/numa.h"

#include "base/core/mem.h"
#include "lib/check.h"

static const struct {
    const char *text;
    uint32_t count, first, last;
} lists[] = {
    {"0\n", 1, 0, 0},        {"0-3", 4, 0, 3}, {"0-3,8,10-11\n", 7, 0, 11},
    {"8191", 1, 8191, 8191}, {"", 0, 0, 0},    {"\n", 0, 0, 0},
};

TEST(a_list_of_cpus_is_read)
{
    CHECK_ROWS (row, lists) {
        struct cpu_set set = {0};
        uint32_t count = 0;

        CHECK(cpu_set_read(row->text, &set));
        for (uint32_t cpu = 0; cpu < NUMA_CPUS_MAX; cpu++)
            count += cpu_set_has(&set, cpu);
        CHECK_INT_EQ(count, row->count);
        CHECK_INT_EQ(cpu_set_is_empty(&set), row->count == 0);
        CHECK(row->count == 0 || (cpu_set_has(&set, row->first) && cpu_set_has(&set, row->last)));
    }
}

TEST(what_is_no_list_is_rejected)
{
    static const char *const bad[] = {"a", "1-", "-1", "3-1", "8192", "0-99999999", "1,,2", "1 2"};

    CHECK_ROWS (row, bad) {
        struct cpu_set set = {0};

        CHECK(!cpu_set_read(*row, &set));
        CHECK(cpu_set_is_empty(&set));
    }
}

static const struct {
    uint32_t nodes, index, count, first, end;
} shares[] = {
    {2, 0, 2, 0, 1}, {2, 1, 2, 1, 2}, /* Fig. 2.1 of the guide */
    {2, 0, 1, 0, 2}, {4, 1, 2, 2, 4}, {8, 2, 3, 5, 8}, {2, 3, 4, 1, 2}, {1, 5, 8, 0, 1},
};

/* On record: 2 instances on 2 nodes have a node each. */
TEST(nodes_are_divided_among_the_instances)
{
    CHECK_ROWS (row, shares) {
        uint32_t first, end;

        numa_share(row->nodes, row->index, row->count, &first, &end);
        CHECK_INT_EQ(first, row->first);
        CHECK_INT_EQ(end, row->end);
    }
}

/* No instance is without a node; with enough of them no two share one, and none is left over. */
TEST(every_node_is_somebodys)
{
    for (uint32_t nodes = 1; nodes <= 16; nodes++)
        for (uint32_t count = 1; count <= 20; count++)
            for (uint32_t index = 0, before = 0; index < count; index++) {
                uint32_t first, end;

                numa_share(nodes, index, count, &first, &end);
                CHECK(first < end && end <= nodes);
                if (nodes < count)
                    continue;
                CHECK_INT_EQ(first, before);
                CHECK(index + 1 < count || end == nodes);
                before = end;
            }
}
