#include "kubectl/core/log_reader.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

struct seen {
    struct str text; /* lines, each with "|" at its end, or "+|" if it continues one */
    size_t count, longest;
};

static void collect(void *ctx, const struct log_line *line)
{
    struct seen *seen = ctx;

    seen->count++;
    seen->longest = line->text.len > seen->longest ? line->text.len : seen->longest;
    if (line->text.len < 100)
        str_add(&seen->text, line->text.ptr, line->text.len);
    str_adds(&seen->text, line->is_continued ? "+|" : "|");
}

struct fixture {
    struct log_reader reader;
    struct seen seen;
};

static void fixture_init(struct fixture *f)
{
    *f = (struct fixture){.reader.piece_max = LOG_PIECE_MAX};
}

static void fixture_release(struct fixture *f)
{
    log_reader_release(&f->reader);
    str_release(&f->seen.text);
}

static void push(struct fixture *f, const char *text)
{
    log_reader_push(&f->reader, text, strlen(text), collect, &f->seen);
}

#define T1 "2026-11-26T17:20:43.100000000Z "
#define T2 "2026-11-26T17:20:43.200000000Z "
#define T3 "2026-11-26T17:20:44.000000000Z "

TEST_F(fixture, f, lines_are_whole_whatever_the_pieces)
{
    static const char text[] = T1 "one\n" T2 "\n" T3 "two three\n";

    for (size_t i = 0; i < sizeof(text) - 1; i++)
        log_reader_push(&f->reader, text + i, 1, collect, &f->seen);
    CHECK_STR_EQ(str_text(&f->seen.text), "one||two three|");
}

TEST_F(fixture, f, the_last_line_needs_no_end)
{
    push(f, T1 "one\n" T2 "rest");
    log_reader_end(&f->reader, collect, &f->seen);
    CHECK_STR_EQ(str_text(&f->seen.text), "one|rest|");
}

TEST_F(fixture, f, lines_without_a_time_are_lines)
{
    push(f, T1 "one\nunable to retrieve container logs for containerd://x\n");
    CHECK_STR_EQ(str_text(&f->seen.text), "one|unable to retrieve container logs for containerd://x|");
}

TEST_F(fixture, f, a_broken_stream_continues_without_loss_or_repetition)
{
    int64_t since_s = 0;

    push(f, T1 "a\n" T2 "b\n" T2 "c\n" T2 "part of d");
    CHECK(log_reader_resume(&f->reader, &since_s));
    CHECK_INT_EQ(since_s, 1795713643); /* 17:20:43 */
    push(f, T1 "a\n" T2 "b\n" T2 "c\n" T2 "part of d, whole\n" T3 "e\n");
    CHECK_STR_EQ(str_text(&f->seen.text), "a|b|c|part of d, whole|e|");
    /* It breaks again, and before the lines that are known have come. */
    CHECK(log_reader_resume(&f->reader, &since_s));
    CHECK_INT_EQ(since_s, 1795713644);
    CHECK(log_reader_resume(&f->reader, &since_s));
    push(f, T3 "e\n" T3 "f\n");
    CHECK_STR_EQ(str_text(&f->seen.text), "a|b|c|part of d, whole|e|f|");
}

TEST_F(fixture, f, nothing_was_read)
{
    int64_t since_s;

    CHECK(!log_reader_resume(&f->reader, &since_s));
    push(f, T1 "a\n");
    CHECK_STR_EQ(str_text(&f->seen.text), "a|");
}

TEST_F(fixture, f, zones_do_not_change_the_order)
{
    push(f, "2026-11-26T18:20:43.5+01:00 x\n");
    CHECK(f->reader.last_ns == INT64_C(1795713643500000000));
}

static void push_long(struct fixture *f, size_t len)
{
    AUTO(mem) char *many = mem_alloc(100000);

    memset(many, 'x', 100000);
    for (; len > 0; len -= len < 100000 ? len : 100000)
        log_reader_push(&f->reader, many, len < 100000 ? len : 100000, collect, &f->seen);
}

TEST_F(fixture, f, a_line_of_100_megabytes_comes_in_pieces)
{
    push(f, T1);
    push_long(f, 100 * 1000 * 1000);
    push(f, "\n" T2 "next\n");
    CHECK_INT_EQ(f->seen.count, 100 * 1000 * 1000 / LOG_PIECE_MAX + 2);
    CHECK_INT_EQ(f->seen.longest, LOG_PIECE_MAX);
    CHECK(str_has_suffix(str_text(&f->seen.text), "+|next|"));
    CHECK(f->reader.buffer.cap < 4 * LOG_PIECE_MAX);
}

TEST_F(fixture, f, a_stream_that_breaks_in_a_long_line_continues_in_it)
{
    size_t before = 2 * LOG_PIECE_MAX + 500;
    int64_t since_s;

    push(f, T1 "a\n" T2);
    push_long(f, before);
    CHECK(log_reader_resume(&f->reader, &since_s));
    push(f, T1 "a\n" T2);
    push_long(f, before);
    push(f, "end\n" T3 "next\n");
    /* Two whole pieces before the break; what was not reported follows it. */
    CHECK_STR_EQ(str_text(&f->seen.text), "a||+|+|next|");
}
