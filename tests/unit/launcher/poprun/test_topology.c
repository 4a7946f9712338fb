#include "launcher/poprun/plan/topology.h"

#include "base/core/mem.h"
#include "lib/check.h"
#include "lib/golden.h"

static void print(struct topology topology, const char *const *names, struct str *out)
{
    AUTO(strv) struct strv hosts = {0};

    for (; names && *names; names++)
        strv_push(&hosts, *names);
    topology.hosts = &hosts;
    topology_print(&topology, out);
}

static const char *const pods[] = {"pod1", "a-host-with-a-long-name", NULL};

/* All but the last are recorded: EIDF, CosmicTagger five times, ALCF. */
static const struct {
    const char *golden;
    struct topology topology;
    const char *const *hosts;
} tables[] = {
    {"poprun/table-1x16.txt", {16, 1, 4, 0, NULL, NULL}, NULL},
    {"poprun/table-16x16.txt", {16, 16, 1, 0, NULL, NULL}, NULL},
    {"poprun/table-8x8.txt", {8, 8, 1, 0, NULL, NULL}, NULL},
    {"poprun/table-4x4.txt", {4, 4, 1, 0, NULL, NULL}, NULL},
    {"poprun/table-2x2.txt", {2, 2, 1, 0, NULL, NULL}, NULL},
    {"poprun/table-1x1.txt", {1, 1, 1, 0, NULL, NULL}, NULL},
    {"poprun/table-1x4.txt", {4, 1, 1, 0, "gc-poplar-02", NULL}, NULL},
    {"poprun/table-two-hosts.txt", {8, 4, 4, 16, NULL, NULL}, pods},
};

/* On record: without hosts the table shows localhost; seven recorded tables: 1x1, 2x2, 4x4, 8x8 and
 * 16x16, 1 instance of 4 replicas, 1 of 16; a host name that is too long is its number in brackets, with
 * a line below the table; what does not fit is cut: poprun top... and a dot for the host; a cell has a
 * blank on each side, and an odd blank goes to the right. */
TEST(tables_are_those_of_the_record)
{
    CHECK_ROWS (row, tables) {
        AUTO(str) struct str text = {0};

        print(row->topology, row->hosts, &text);
        golden_check(row->golden, str_text(&text));
    }
}

TEST(instances_are_on_hosts_in_blocks)
{
    AUTO(strv) struct strv hosts = {0};
    struct topology topology = {8, 4, 1, 0, NULL, &hosts};

    CHECK_STR_EQ(topology_host(&topology, 3), "localhost");
    CHECK_INT_EQ(topology_instances_per_host(&topology), 4);
    strv_push(&hosts, "a");
    strv_push(&hosts, "b");
    CHECK_INT_EQ(topology_instances_per_host(&topology), 2);
    CHECK_INT_EQ(topology_local_replicas(&topology), 2);
    CHECK_STR_EQ(topology_host(&topology, 1), "a");
    CHECK_STR_EQ(topology_host(&topology, 2), "b");
}

/* Every line of a table is as long as the others, whatever is in it. */
TEST(a_table_is_a_rectangle)
{
    static const uint32_t shapes[][2] = {{1, 1}, {3, 3}, {9, 3}, {10, 1}, {11, 11}, {100, 10}, {128, 4}};

    CHECK_ROWS (shape, shapes) {
        AUTO(str) struct str text = {0};
        size_t width = 0, lines = 0;

        print((struct topology){(*shape)[0], (*shape)[1], 2, 8, NULL, NULL}, NULL, &text);
        for (size_t at = 0, start = 0; at < text.len && text.ptr[start] != '['; at++) {
            if (text.ptr[at] != '\n')
                continue;
            /* The first and the last line lack the bar at the end. */
            size_t len = at - start + (text.ptr[start] == ' ' ? 1 : 0);

            width = width ? width : len;
            CHECK_INT_EQ(len, width);
            start = at + 1;
            lines++;
        }
        CHECK(lines >= 11);
    }
}
