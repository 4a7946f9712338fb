#include "base/text/terminal.h"

#include "lib/check.h"

TEST(a_terminal_gets_colors_and_nothing_else_that_steers_it)
{
    const struct {
        struct slice text;
        const char *want;
    } rows[] = {
        {SLICE_LIT("plain\ttext"), "plain\ttext"},
        {SLICE_LIT("\x1b[31mred\x1b[0m"), "\x1b[31mred\x1b[0m\x1b[0m"},
        {SLICE_LIT("a\x1b[2Jb"), "ab"},
        {SLICE_LIT("a\x1b[?1049hb"), "ab"},
        {SLICE_LIT("a\x1b]0;title\ab"), "ab"},
        {SLICE_LIT("a\x1b]52;c;cGFzdGU=\x1b\\b"), "ab"},
        {SLICE_LIT("a\x1b]8;;http://evil"), "a"},
        {SLICE_LIT("a\x1b"
                   "c\0b\x7f"),
         "ab"},
        {SLICE_LIT("a\0b"), "ab"},
        {SLICE_LIT("a\x1b\0b"), "ab"},
        {SLICE_LIT("a\xc2\x9b"
                   "2Jb"),
         "a2Jb"},
        {SLICE_LIT("a\xff"
                   "b"),
         "ab"},
        {SLICE_LIT("a\x1b"), "a"},
        {SLICE_LIT("a\x1b[3"), "a"},
        {SLICE_LIT("\xc3\xa4"), "\xc3\xa4"},
        {SLICE_LIT("10%\r20%\r"), "20%"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(str) struct str out = {0};

        terminal_add(&out, row->text);
        CHECK_STR_EQ(str_text(&out), row->want);
    }
}
