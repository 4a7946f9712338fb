#include "lib/check.h"

#include "base/core/mem.h"
#include "vipu/cli/table.h"

TEST(cells_cannot_forge_cells_or_lines)
{
    static const char *const heading[] = {"A", "B", NULL};
    AUTO(table) struct table table = {0};
    AUTO(str) struct str out = {0};

    table_init(&table, heading);
    table_add(&table, "x | y\nz");
    table_addf(&table, "%u", 7u);
    table_print(&table, &out);
    CHECK_STR_EQ(str_text(&out), "A       | B\n"
                                 "-------------\n"
                                 "x ? y?z | 7\n"
                                 "-------------\n");
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
