#include "operator/api/job/indexset.h"

#include "base/core/mem.h"
#include "lib/check.h"

static const struct {
    const char *text, *printed;
    size_t count;
} rows[] = {
    {"", "", 0},
    {"0", "0", 1},
    {"0-3,5", "0-3,5", 5},
    {"5,0-3", "0-3,5", 5},
    {"1,2,3", "1-3", 3},
    {"63,64", "63-64", 2},
    {"0,127-128", "0,127-128", 3},
    {"7,7,7", "7", 1},
    {"65535", "65535", 1},
    {"65536", "", 0}, /* too large to be a number of ours */
    {"65534-70000", "65534-65535", 2},
    {"3-1", "", 0},
    {"x", "", 0},
    {"1,x,2", "1", 1},
    {"1-", "", 0},
    {"2 3", "2", 1},
    {"-5", "", 0},
    {"99999999999999999999", "", 0},
};

TEST(what_is_read_is_printed)
{
    CHECK_ROWS (row, rows) {
        AUTO(indexset) struct indexset set = {0};
        AUTO(mem) char *printed = NULL;

        indexset_parse(&set, row->text);
        printed = indexset_print(&set);
        CHECK_STR_EQ(printed, row->printed);
        CHECK_INT_EQ(indexset_count(&set), row->count);
    }
}

TEST(a_set_has_what_was_added_and_nothing_else)
{
    AUTO(indexset) struct indexset set = {0};

    CHECK(!indexset_has(&set, 0));
    indexset_add(&set, 64);
    CHECK(indexset_has(&set, 64));
    CHECK(!indexset_has(&set, 0));
    CHECK(!indexset_has(&set, 63));
    CHECK(!indexset_has(&set, 65));
    CHECK(!indexset_has(&set, 128));
    CHECK(!indexset_has(&set, UINT32_MAX));
    indexset_add(&set, INDEXSET_MAX);
    CHECK_INT_EQ(indexset_count(&set), 1);
}

TEST(parsing_adds)
{
    AUTO(indexset) struct indexset set = {0};
    AUTO(mem) char *printed = NULL;

    indexset_parse(&set, "4-5");
    indexset_parse(&set, "0,2000");
    printed = indexset_print(&set);
    CHECK_STR_EQ(printed, "0,4-5,2000");
}

TEST(a_released_set_is_empty_and_can_be_used)
{
    AUTO(indexset) struct indexset set = {0};

    indexset_add(&set, 3);
    indexset_release(&set);
    CHECK_INT_EQ(indexset_count(&set), 0);
    indexset_add(&set, 1);
    CHECK_INT_EQ(indexset_count(&set), 1);
}
