#include "local/node/container_log.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "lib/check.h"

static void collect(void *ctx, const struct container_line *line)
{
    str_addf(ctx, "%s%s%.*s|", line->is_error ? "!" : "", line->is_continued ? "+" : "", (int)line->text.len,
             line->text.ptr);
}

static void add(struct container_log *log, bool is_error, const char *text, struct str *lines)
{
    struct err err;

    CHECK_OK(container_log_add(log, is_error, text, text ? strlen(text) : 0, collect, lines, &err), err);
}

TEST(lines_are_whole_whatever_pieces_they_come_in)
{
    AUTO(mem) char *path = mem_printf("%s/lines.log", check_tmpdir());
    AUTO(str) struct str lines = {0}, kept = {0};
    struct container_log log = {.fd = -1};
    struct err err;

    CHECK_OK(container_log_open(&log, path, &err), err);
    add(&log, false, "one\ntw", &lines);
    add(&log, true, "error\n", &lines);
    add(&log, false, "o\n\nthr", &lines);
    add(&log, false, "ee", &lines);
    CHECK_STR_EQ(str_text(&lines), "one|!error|two||");
    add(&log, false, NULL, &lines);
    CHECK_STR_EQ(str_text(&lines), "one|!error|two||three|");
    CHECK_OK(file_read(path, 1000, &kept, &err), err);
    CHECK_STR_EQ(str_text(&kept), "one\nerror\ntwo\n\nthree\n");
    container_log_release(&log);
}

#define PIECE ((size_t)64 * 1024)

TEST(a_very_long_line_is_given_in_pieces_and_kept_whole)
{
    AUTO(mem) char *path = mem_printf("%s/long.log", check_tmpdir());
    AUTO(str) struct str lines = {0}, text = {0}, kept = {0};
    struct container_log log = {.fd = -1};
    struct err err;

    for (size_t i = 0; i < 3 * PIECE; i++)
        str_addc(&text, 'x');
    CHECK_OK(container_log_open(&log, path, &err), err);
    add(&log, false, str_text(&text), &lines);
    CHECK_INT_EQ(lines.len, 2 * PIECE + strlen("|+|"));
    add(&log, false, "\nnext\n", &lines); /* a line that ends where a piece does has no empty piece */
    CHECK_INT_EQ(lines.len, 3 * PIECE + strlen("|+|+|next|"));
    CHECK(str_has_suffix(str_text(&lines), "x|next|"));
    CHECK_OK(file_read(path, 4 * PIECE, &kept, &err), err);
    str_adds(&text, "\nnext\n");
    CHECK_STR_EQ(str_text(&kept), str_text(&text));
    container_log_release(&log);
}

TEST(a_line_of_the_other_stream_stands_alone_in_the_file)
{
    AUTO(mem) char *path = mem_printf("%s/both.log", check_tmpdir());
    AUTO(str) struct str lines = {0}, text = {0}, kept = {0};
    struct container_log log = {.fd = -1};
    struct err err;

    for (size_t i = 0; i < PIECE; i++)
        str_addc(&text, 'x');
    CHECK_OK(container_log_open(&log, path, &err), err);
    add(&log, false, str_text(&text), &lines);
    add(&log, false, "end", &lines);
    add(&log, true, "error\n", &lines);
    add(&log, false, "\nnext\n", &lines);
    CHECK(str_has_suffix(str_text(&lines), "x|!error|+end|next|"));
    CHECK_OK(file_read(path, 2 * PIECE, &kept, &err), err);
    CHECK(str_has_suffix(str_text(&kept), "x\nerror\nend\nnext\n"));
    container_log_release(&log);
}

TEST(the_tail_has_eighty_lines_and_two_kilobytes_at_most)
{
    AUTO(mem) char *path = mem_printf("%s/tail.log", check_tmpdir());
    AUTO(str) struct str lines = {0};
    struct container_log log = {.fd = -1};
    struct err err;

    CHECK_OK(container_log_open(&log, path, &err), err);
    for (int i = 0; i < 100; i++) {
        AUTO(mem) char *line = mem_printf("%d\n", i);

        add(&log, false, line, &lines);
    }
    AUTO(mem) char *tail = container_log_tail(&log);
    CHECK(str_has_prefix(tail, "20\n21\n") && str_has_suffix(tail, "\n99\n"));
    for (int i = 0; i < 100; i++)
        add(&log, false, "a line of thirty characters\xc3\xa4\n", &lines);
    AUTO(mem) char *longer = container_log_tail(&log);
    CHECK(strlen(longer) <= 2048 && strlen(longer) > 2000);
    container_log_release(&log);
}
