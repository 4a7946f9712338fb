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

TEST(ranges_are_added_across_words)
{
    static const struct {
        uint32_t first, count;
        const char *printed;
    } ranges[] = {
        {0, 0, ""},
        {0, 1, "0"},
        {0, 64, "0-63"},
        {63, 2, "63-64"},
        {5, 200, "5-204"},
        {64, 64, "64-127"},
        {0, 10000, "0-9999"},
        {65530, UINT32_MAX, "65530-65535"},
        {INDEXSET_MAX, 5, ""},
    };

    CHECK_ROWS (row, ranges) {
        AUTO(indexset) struct indexset set = {0};
        AUTO(mem) char *printed = NULL;

        indexset_add_range(&set, row->first, row->count);
        printed = indexset_print(&set);
        CHECK_STR_EQ(printed, row->printed);
    }
}

TEST(sets_are_added_removed_and_compared)
{
    static const struct {
        const char *a, *b, *together, *without;
    } pairs[] = {
        {"", "", "", ""},
        {"0-9", "", "0-9", "0-9"},
        {"", "100-200", "100-200", ""},
        {"0-99", "50,300", "0-99,300", "0-49,51-99"},
        {"64-127", "0-255", "0-255", ""},
    };

    CHECK_ROWS (row, pairs) {
        AUTO(indexset) struct indexset a = {0};
        AUTO(indexset) struct indexset b = {0};
        AUTO(indexset) struct indexset together = {0};
        AUTO(mem) char *printed = NULL;
        AUTO(mem) char *without = NULL;

        indexset_parse(&a, row->a);
        indexset_parse(&b, row->b);
        indexset_add_all(&together, &a);
        CHECK(indexset_equal(&together, &a) && indexset_equal(&a, &together));
        indexset_add_all(&together, &b);
        printed = indexset_print(&together);
        CHECK_STR_EQ(printed, row->together);
        indexset_remove_all(&a, &b);
        without = indexset_print(&a);
        CHECK_STR_EQ(without, row->without);
        CHECK(indexset_equal(&a, &b) == (indexset_count(&a) == 0 && indexset_count(&b) == 0));
    }
}

TEST(one_is_removed_and_the_next_is_found)
{
    AUTO(indexset) struct indexset set = {0};

    indexset_parse(&set, "3,64-66,1000");
    indexset_remove(&set, 65);
    indexset_remove(&set, 5000);
    CHECK_INT_EQ(indexset_next(&set, 0), 3);
    CHECK_INT_EQ(indexset_next(&set, 4), 64);
    CHECK_INT_EQ(indexset_next(&set, 65), 66);
    CHECK_INT_EQ(indexset_next(&set, 67), 1000);
    CHECK_INT_EQ(indexset_next(&set, 1001), INDEXSET_MAX);
}

/* A status can be written by others than the operator, and may have a megabyte of them. */
TEST(ranges_that_overlap_again_and_again_are_not_read_to_the_end)
{
    AUTO(str) struct str text = {0};
    AUTO(indexset) struct indexset set = {0};

    for (int i = 0; i < 100; i++)
        str_adds(&text, "0-65534,");
    str_adds(&text, "65535");
    indexset_parse(&set, str_text(&text));
    CHECK_INT_EQ(indexset_count(&set), INDEXSET_MAX - 1);
}
