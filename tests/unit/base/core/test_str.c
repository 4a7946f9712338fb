#include "base/core/str.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

TEST(an_empty_string_is_text)
{
    struct str s = {0};

    CHECK_STR_EQ(str_text(&s), "");
    CHECK(str_slice(&s).ptr != NULL);
    CHECK(str_add(&s, NULL, 0));
    AUTO(mem) char *taken = str_take(&s);
    CHECK_STR_EQ(taken, "");
}

TEST(appending)
{
    AUTO(str) struct str s = {0};

    CHECK(str_adds(&s, "ab"));
    CHECK(str_addc(&s, 'c'));
    CHECK(str_addf(&s, "%03d", 7));
    CHECK(str_add(&s, "\0x", 2));
    CHECK_INT_EQ(s.len, 8);
    CHECK(memcmp(s.ptr, "abc007\0x\0", 9) == 0);
}

TEST(bytes_are_added_as_hexadecimal_digits)
{
    AUTO(str) struct str text = {0}, small = {.max = 3};

    CHECK(str_add_hex(&text, "\x00\x7f\xab", 3));
    CHECK_STR_EQ(str_text(&text), "007fab");
    CHECK(str_add_hex(&text, "", 0));
    CHECK(!str_add_hex(&small, "\x01\x02", 2));
}

TEST(an_append_over_the_cap_adds_nothing_and_sticks)
{
    AUTO(str) struct str s = {.max = 5};

    CHECK(str_adds(&s, "abcde"));
    CHECK(!s.full);
    CHECK(!str_addc(&s, 'f'));
    CHECK_STR_EQ(str_text(&s), "abcde");
    CHECK(s.full);
    str_drop(&s, 3);
    CHECK(!str_addc(&s, 'g'));
    str_clear(&s);
    CHECK(str_addf(&s, "%s", "12345"));
    CHECK(!str_addf(&s, "%d", 6));
    CHECK_STR_EQ(str_text(&s), "12345");
}

TEST(the_cap_holds_for_every_size)
{
    for (size_t max = 1; max < 300; max++) {
        AUTO(str) struct str s = {.max = max};
        size_t added = 0;

        while (str_adds(&s, "1234567"))
            added += 7;
        CHECK_INT_EQ(s.len, added);
        CHECK(s.len <= max && s.len + 7 > max);
        CHECK(s.cap <= max + 65); /* the first block is 64 bytes */
    }
}

TEST(dropping_from_the_front)
{
    AUTO(str) struct str s = {0};

    str_drop(&s, 3);
    CHECK(str_adds(&s, "abcdef"));
    str_drop(&s, 2);
    CHECK_STR_EQ(str_text(&s), "cdef");
    str_drop(&s, 100);
    CHECK_STR_EQ(str_text(&s), "");
}

TEST(vectors_end_with_null)
{
    AUTO(strv) struct strv v = {0};

    CHECK(strv_argv(&v)[0] == NULL);
    for (int i = 0; i < 50; i++) {
        strv_pushf(&v, "item %d", i);
        CHECK(strv_argv(&v)[v.count] == NULL);
    }
    strv_push(&v, "last");
    CHECK_INT_EQ(v.count, 51);
    CHECK_STR_EQ(v.items[49], "item 49");
    CHECK(strv_has(&v, "last"));
    CHECK(!strv_has(&v, "las"));
}

TEST(counting)
{
    AUTO(str) struct str s = {0};

    CHECK(str_add_count(&s, 0, "IPU", NULL) && str_addc(&s, ','));
    CHECK(str_add_count(&s, 1, "IPU", NULL) && str_addc(&s, ','));
    CHECK(str_add_count(&s, 4, "IPU", NULL) && str_addc(&s, ','));
    CHECK(str_add_count(&s, 1, "process", "processes") && str_addc(&s, ','));
    CHECK(str_add_count(&s, UINT64_MAX, "process", "processes"));
    CHECK_STR_EQ(str_text(&s), "0 IPUs,1 IPU,4 IPUs,1 process,18446744073709551615 processes");

    AUTO(str) struct str small = {.max = 4};
    CHECK(!str_add_count(&small, 10, "IPU", NULL));
    CHECK(small.full && small.len == 0);
}

TEST(comparing)
{
    CHECK(str_has_prefix("abc", "ab") && !str_has_prefix("a", "ab") && str_has_prefix("a", ""));
    CHECK(str_has_suffix("abc", "bc") && !str_has_suffix("c", "bc") && str_has_suffix("c", ""));
    CHECK(str_eq(NULL, NULL) && !str_eq(NULL, "") && !str_eq("", NULL) && str_eq("a", "a"));
    CHECK(slice_eq(SLICE_LIT("ab"), "ab") && !slice_eq(SLICE_LIT("ab"), "abc") &&
          slice_eq(slice_of(NULL), ""));
}

TEST(numbers)
{
    static const struct {
        const char *text;
        int64_t min, max;
        bool good;
        int64_t want;
    } rows[] = {
        {"0", 0, 10, true, 0},
        {"10", 0, 10, true, 10},
        {"11", 0, 10, false, 0},
        {"-1", -5, 5, true, -1},
        {"-6", -5, 5, false, 0},
        {"007", 0, 10, true, 7},
        {"9223372036854775807", INT64_MIN, INT64_MAX, true, INT64_MAX},
        {"-9223372036854775808", INT64_MIN, INT64_MAX, true, INT64_MIN},
        {"9223372036854775808", INT64_MIN, INT64_MAX, false, 0},
        {"99999999999999999999", INT64_MIN, INT64_MAX, false, 0},
        {"", 0, 10, false, 0},
        {"-", -5, 5, false, 0},
        {"+1", 0, 10, false, 0},
        {" 1", 0, 10, false, 0},
        {"1 ", 0, 10, false, 0},
        {"1x", 0, 10, false, 0},
        {"0x1", 0, 10, false, 0},
        {"--1", -5, 5, false, 0},
        {NULL, 0, 10, false, 0},
    };

    CHECK_ROWS (row, rows) {
        int64_t value = 77;

        CHECK_INT_EQ(parse_i64(row->text, row->min, row->max, &value), row->good);
        CHECK_INT_EQ(value, row->good ? row->want : 77);
    }
    uint32_t value = 77;
    CHECK(parse_u32("4294967295", 0, UINT32_MAX, &value) && value == UINT32_MAX);
    CHECK(!parse_u32("4294967296", 0, UINT32_MAX, &value) && value == UINT32_MAX);
}
