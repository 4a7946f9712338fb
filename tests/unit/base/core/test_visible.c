#include "lib/check.h"

#include "base/core/mem.h"
#include "base/core/visible.h"

/* The escapes are those of Go: golang/go, src/strconv/quote.go (appendEscapedRune), which kubectl and the API
 * server print with %q. kubectl's own table writes an escape byte as text as well: kubernetes/kubernetes,
 * staging/src/k8s.io/cli-runtime/pkg/printers/terminal.go. */
TEST(what_moves_a_cursor_becomes_text)
{
    static const struct {
        const char *text, *line, *lines;
    } rows[] = {
        {"", "", ""},
        {"plain \"text\" \\ | ~", "plain \"text\" \\ | ~", "plain \"text\" \\ | ~"},
        {"a\x1b[2Jb", "a\\x1b[2Jb", "a\\x1b[2Jb"},
        {"one\ntwo\tthree\rfour", "one\\ntwo\\tthree\\rfour", "one\ntwo\tthree\\rfour"},
        {"\x01\x7f", "\\x01\\x7f", "\\x01\\x7f"},
        {"\xc2\x9b"
         "2J\xc2\xa0",
         "\\u009b2J\xc2\xa0", "\\u009b2J\xc2\xa0"},
        {"\xe2\x80\xae"
         "drow\xe2\x80\xac \xc2\xad\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf",
         "\\u202edrow\\u202c \\u00ad\\u2028\\u2029\\ufeff",
         "\\u202edrow\\u202c \\u00ad\\u2028\\u2029\\ufeff"},
        {"\xf3\xa0\x81\xa1\xe2\x81\xa5", "\\U000e0061\xe2\x81\xa5", "\\U000e0061\xe2\x81\xa5"},
        {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
         "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
         "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *line = visible_new(row->text, VISIBLE_LINE);
        AUTO(mem) char *lines = visible_new(row->text, VISIBLE_LINES);

        CHECK_STR_EQ(line, row->line);
        CHECK_STR_EQ(lines, row->lines);
        CHECK_INT_EQ(visible_is(row->text, VISIBLE_LINE), str_eq(row->text, row->line));
        CHECK_INT_EQ(visible_is(row->text, VISIBLE_LINES), str_eq(row->text, row->lines));
        CHECK(visible_is(line, VISIBLE_LINE));
    }
}

/* RFC 3629, section 4: overlong forms, surrogates, what lies beyond U+10FFFF, and sequences without their
 * end. */
TEST(bytes_that_are_not_utf8_become_text)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"\xff", "\\xff"},
        {"\x80x", "\\x80x"},
        {"\xc3", "\\xc3"},
        {"\xe2\x82", "\\xe2\\x82"},
        {"\xe2\x82x", "\\xe2\\x82x"},
        {"\xc0\xaf", "\\xc0\\xaf"},
        {"\xe0\x9f\xbf", "\\xe0\\x9f\\xbf"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
        {"\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf"},
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
        {"\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80"},
        {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *got = visible_new(row->text, VISIBLE_LINE);

        CHECK_STR_EQ(got, row->want);
    }
}

TEST(a_nul_inside_a_slice_becomes_text_and_a_full_buffer_says_so)
{
    AUTO(str) struct str out = {0};
    AUTO(str) struct str small = {.max = 3};

    CHECK(str_add_visible(&out, (struct slice){"a\0b", 3}, VISIBLE_LINES));
    CHECK_STR_EQ(str_text(&out), "a\\x00b");
    CHECK(!str_add_visible(&small, SLICE_LIT("a\x1b"), VISIBLE_LINE));
    CHECK_STR_EQ(str_text(&small), "a");
}
