#include "operator/api/job/exit_codes.h"

#include "base/core/mem.h"
#include "base/core/str.h"
#include "lib/check.h"

TEST(exit_codes_match_lists_and_ranges)
{
    static const struct {
        const char *codes;
        int code;
        bool match;
    } rows[] = {
        {"1-5,137", 1, true},   {"1-5,137", 5, true}, {"1-5,137", 6, false}, {"1-5,137", 137, true},
        {"0", 0, true},         {"7", 7, true},       {"7", 77, false},      {"0-255", 255, true},
        {"1,2,3", 2, true},     {"1,2,3", 0, false},  {NULL, 1, false},      {"", 1, false},
        {"1-5,137x", 1, false}, {"junk", 1, false},
    };

    CHECK_ROWS (row, rows)
        CHECK_INT_EQ(exit_codes_match(row->codes, row->code), row->match);
}

TEST(exit_codes_are_read_strictly)
{
    static const char *const bad[] = {
        "",   ",",  "1,",  ",1", "1--5", "-1",   "5-1", "256",  "1-256", "1-",    " 1",
        "1 ", "+1", "1;2", "x",  "01",   "1-05", "00",  "0x10", "1.5",   "1-2-3", "99999999999999999999"};

    CHECK_ROWS (codes, bad)
        CHECK(!exit_codes_are_valid(*codes));
}

TEST(a_list_of_codes_has_a_limit)
{
    AUTO(str) struct str every = {0};
    AUTO(str) struct str text = {0};

    for (int code = 0; code <= 255; code++)
        str_addf(&every, "%s%d", code ? "," : "", code);
    CHECK(exit_codes_are_valid(str_text(&every)));
    while (text.len < 1023)
        str_addc(&text, text.len % 2 ? ',' : '1');
    CHECK(exit_codes_are_valid(str_text(&text)));
    str_adds(&text, ",1");
    CHECK(!exit_codes_are_valid(str_text(&text)));
}
