#include "kubectl/core/log_text.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

static const struct log_source FIRST = {"0.3", "job-worker-3", PAINT_NONE, 0},
                               OTHER = {"0.11", "job-worker-11", PAINT_NONE, 0};

static void add(struct log_merge *merge, const struct log_source *source, const char *text, int64_t time_ns)
{
    log_merge_add(merge, source,
                  &(struct log_line){
                      .text = slice_of(text), .time = SLICE_LIT("2026-11-26T17:20:43Z"), .time_ns = time_ns});
}

TEST(lines_are_in_the_order_of_their_times)
{
    struct log_merge merge = {0};
    struct log_format format = {.rank_width = 4};
    AUTO(str) struct str out = {0};

    add(&merge, &FIRST, "second", 20);
    add(&merge, &FIRST, "fourth", 30);
    add(&merge, &OTHER, "first", 10);
    add(&merge, &OTHER, "third", 20);
    log_merge_flush(&merge, &format, &out);
    CHECK_STR_EQ(str_text(&out), "[0.11] first\n[0.3]  second\n[0.11] third\n[0.3]  fourth\n");
    log_merge_release(&merge);
}

TEST(lines_beyond_the_limit_are_counted)
{
    struct log_merge merge = {.max_bytes = 1};
    AUTO(str) struct str out = {0};

    add(&merge, &FIRST, "first", 1);
    add(&merge, &FIRST, "second", 2);
    log_merge_add(&merge, &FIRST, &(struct log_line){.text = SLICE_LIT("its rest"), .is_continued = true});
    CHECK_INT_EQ(merge.left_out, 1);
    log_merge_flush(&merge, &(struct log_format){0}, &out);
    CHECK_STR_EQ(str_text(&out), "[0.3] first\n");
    log_merge_release(&merge);
}

TEST(a_progress_bar_on_a_terminal_is_its_last_state)
{
    struct log_merge merge = {0};
    struct log_format terminal = {.is_terminal = true, .rank_width = 3}, pipe = {.timestamps = true};
    AUTO(str) struct str out = {0};

    add(&merge, &FIRST, "10%\r20%\r", 1);
    log_merge_flush(&merge, &terminal, &out);
    add(&merge, &FIRST, "10%\r20%", 1);
    log_merge_flush(&merge, &pipe, &out);
    CHECK_STR_EQ(str_text(&out), "[0.3] 20%\n[0.3] 2026-11-26T17:20:43Z 10%\r20%\n");
    log_merge_release(&merge);
}

TEST(json_shows_any_byte)
{
    struct log_merge merge = {0};
    struct log_format format = {.json = true};
    AUTO(str) struct str out = {0};

    log_merge_add(&merge, &FIRST, &(struct log_line){.text = SLICE_LIT("a\0\x1b\xff\"")});
    log_merge_flush(&merge, &format, &out);
    CHECK_STR_EQ(str_text(&out),
                 "{\"rank\":\"0.3\",\"pod\":\"job-worker-3\",\"line\":\"a\\\\x00\\\\x1b\\\\xff\\\"\"}\n");
    log_merge_release(&merge);
}
