/* Characters of UTF-8, by the table of well-formed sequences of the Unicode standard (3-7). */
#include "base/core/utf8.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

TEST(only_well_formed_characters_have_a_length)
{
    static const struct {
        const char *bytes;
        size_t len;
    } rows[] = {
        {"a", 1},
        {"\x1b", 1},
        {"\x7f", 1},
        {"\xc2\x80", 2},
        {"\xdf\xbf", 2},
        {"\xe0\xa0\x80", 3},
        {"\xed\x9f\xbf", 3},
        {"\xee\x80\x80", 3},
        {"\xf0\x90\x80\x80", 4},
        {"\xf4\x8f\xbf\xbf", 4},
        {"\x80", 0},         /* a continuation */
        {"\xc1\xbf", 0},     /* overlong */
        {"\xe0\x9f\xbf", 0}, /* overlong */
        {"\xed\xa0\x80", 0}, /* half of a surrogate pair */
        {"\xf0\x8f\xbf\xbf", 0},
        {"\xf4\x90\x80\x80", 0}, /* beyond U+10FFFF */
        {"\xf5\x80\x80\x80", 0},
        {"\xe2\x82", 0}, /* incomplete */
        {"\xe2\x28\xa1", 0},
        {"", 0},
    };

    CHECK_ROWS (row, rows) {
        size_t len = strlen(row->bytes);

        CHECK_INT_EQ(utf8_len(row->bytes, len), row->len);
        if (row->len > 1)
            CHECK_INT_EQ(utf8_len(row->bytes, row->len - 1), 0);
    }
    CHECK_INT_EQ(utf8_len("", 1), 1); /* NUL is a character */
}

TEST(a_text_is_cut_between_characters)
{
    static const char text[] = "a\xe2\x82\xac!";
    static const size_t cut[] = {0, 1, 1, 1, 4};

    for (size_t max = 0; max < COUNT_OF(cut); max++)
        CHECK_INT_EQ(utf8_cut(text, max), cut[max]);
    CHECK_INT_EQ(utf8_cut("\x80\x80\x80", 2), 0);
}
