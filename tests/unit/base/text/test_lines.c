#include "base/text/lines.h"

#include <string.h>

#include "lib/check.h"

/* Pushes text in pieces of the given size and joins what comes out with '|'. */
static void cut(struct lines *l, const char *text, size_t piece, struct str *out)
{
    struct slice line;
    struct err err;

    for (size_t left = strlen(text); left > 0; left -= piece, text += piece) {
        if (piece > left)
            piece = left;
        CHECK_OK(lines_push(l, text, piece, &err), err);
        while (lines_next(l, &line)) {
            CHECK(str_add(out, line.ptr, line.len));
            CHECK(str_addc(out, '|'));
        }
    }
}

TEST(lines_come_out_the_same_however_they_arrive)
{
    static const char text[] = "one\ntwo\r\n\n\r\nthr\ree\n\xc3\xa4\n";

    for (size_t piece = 1; piece <= sizeof text; piece++) {
        struct lines l;
        struct str out = {0};

        lines_init(&l, 16);
        cut(&l, text, piece, &out);
        CHECK_STR_EQ(str_text(&out), "one|two|thr\ree|\xc3\xa4|");
        CHECK_INT_EQ(l.buf.len, l.whole);
        str_release(&out);
        lines_release(&l);
    }
}

TEST(a_line_without_its_end_is_held)
{
    struct lines l;
    struct str out = {0};

    lines_init(&l, 16);
    cut(&l, "a\nb", 3, &out);
    CHECK_STR_EQ(str_text(&out), "a|");
    CHECK(l.buf.len > l.whole);
    cut(&l, "c\n", 2, &out);
    CHECK_STR_EQ(str_text(&out), "a|bc|");
    str_release(&out);
    lines_release(&l);
}

TEST(a_line_over_the_cap_is_rejected)
{
    static const struct {
        const char *text;
        bool fits;
    } rows[] = {
        {"1234\n", true}, {"12345\n", false}, {"1234", true}, {"12345", false}, {"1\n2\n3\n4\n5\n", true}};

    CHECK_ROWS (row, rows) {
        struct lines l;
        struct err err;

        lines_init(&l, 4);
        if (row->fits)
            CHECK_OK(lines_push(&l, row->text, strlen(row->text), &err), err);
        else
            CHECK_ERR(lines_push(&l, row->text, strlen(row->text), &err), err, ERR_INVALID);
        lines_release(&l);
    }
}

TEST(memory_does_not_grow_with_the_stream)
{
    struct lines l;
    struct str out = {0};

    lines_init(&l, 100);
    for (int i = 0; i < 10000; i++) {
        cut(&l, "0123456789\n0123", 15, &out);
        cut(&l, "456789\n", 7, &out);
        str_clear(&out);
    }
    CHECK(l.buf.cap < 1000);
    str_release(&out);
    lines_release(&l);
}
