#include "local/node/container_log.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "lib/check.h"

static void collect(void *ctx, bool is_error, struct slice line)
{
    str_addf(ctx, "%s%.*s|", is_error ? "!" : "", (int)line.len, line.ptr);
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

TEST(a_line_that_never_ends_is_divided)
{
    AUTO(mem) char *path = mem_printf("%s/long.log", check_tmpdir());
    AUTO(str) struct str lines = {0}, text = {0};
    struct container_log log = {.fd = -1};
    struct err err;

    for (int i = 0; i < 200000; i++)
        str_addc(&text, 'x');
    CHECK_OK(container_log_open(&log, path, &err), err);
    add(&log, false, str_text(&text), &lines);
    CHECK_INT_EQ(lines.len, 3 * (64 * 1024 + 1));
    add(&log, false, NULL, &lines);
    CHECK_INT_EQ(lines.len, 200000 + 4);
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
