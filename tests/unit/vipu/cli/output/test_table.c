#include "lib/check.h"

#include "base/core/mem.h"
#include "vipu/cli/output/table.h"

TEST(cells_cannot_forge_cells_or_lines)
{
    static const char *const heading[] = {"A", "B", NULL};
    AUTO(table) struct table table = {0};
    AUTO(str) struct str out = {0};

    table_init(&table, heading);
    table_add(&table, "x | y\nz");
    table_addf(&table, "%u", 7u);
    table_print(&table, &out);
    CHECK_STR_EQ(str_text(&out), "A        | B\n"
                                 "--------------\n"
                                 "x ? y\\nz | 7\n"
                                 "--------------\n");
}

TEST(rules_end_somewhere)
{
    static const char *const heading[] = {"Agents", NULL};
    AUTO(table) struct table table = {0};
    AUTO(str) struct str agents = {0}, out = {0};

    for (int i = 0; i < 1000; i++)
        str_adds(&agents, "ag1 ");
    table_init(&table, heading);
    table_add(&table, str_text(&agents));
    table_print(&table, &out);
    CHECK_INT_EQ(out.len, 7 + 2 * 121 + agents.len + 1);
}

TEST(a_table_without_rows)
{
    static const char *const heading[] = {"Name", NULL};
    AUTO(table) struct table table = {0};
    AUTO(str) struct str out = {0};

    table_init(&table, heading);
    table_print(&table, &out);
    CHECK_STR_EQ(str_text(&out), "Name\n------\n------\n");
}
