/* The first two bytes are the size of the pieces and the place where the stream breaks. However a log is cut,
 * and wherever its stream breaks, the same lines come out; and a terminal gets no control sequence but
 * colors. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/terminal.h"
#include "base/core/visible.h"
#include "kubectl/core/log_text.h"

static void check_terminal(struct slice text)
{
    struct str out = {0};

    terminal_add(&out, text);
    for (size_t at = 0; at < out.len;) {
        size_t len = visible_len(out.ptr + at, out.len - at);

        if (len == 0 && out.ptr[at] == '\x1b') {
            const char *end = memchr(out.ptr + at, 'm', out.len - at);

            if (!end || at + 1 == out.len || out.ptr[at + 1] != '[')
                abort();
            len = (size_t)(end + 1 - (out.ptr + at));
        } else if (len == 0 && out.ptr[at] == '\t') {
            len = 1;
        }
        if (len == 0)
            abort();
        at += len;
    }
    str_release(&out);
}

static void collect(void *ctx, const struct log_line *line)
{
    struct str *out = ctx;

    check_terminal(line->text);
    if (!line->is_continued)
        str_addc(out, '\n');
    str_add(out, line->text.ptr, line->text.len);
}

/* What the API server sends: every line has a time, and some have the same. */
static void make_log(const uint8_t *bytes, size_t len, struct str *ret)
{
    unsigned number = 0;
    bool is_new = true;

    for (size_t i = 0; i < len; i++) {
        if (is_new)
            str_addf(ret, "2026-11-26T17:%02u:%02u.%03u000000Z ", number / 60000 % 60, number / 1000 % 60,
                     number % 1000);
        is_new = bytes[i] == '\n';
        number += is_new ? (unsigned)(i % 3) * 400 : 0;
        str_add(ret, &bytes[i], 1);
    }
}

static void push(struct log_reader *reader, const struct str *log, size_t len, size_t piece, struct str *out)
{
    for (size_t at = 0; at < len; at += piece)
        log_reader_push(reader, log->ptr + at, piece < len - at ? piece : len - at, collect, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct str log = {0}, whole = {0}, broken = {0};
    struct log_reader once = {.piece_max = LOG_PIECE_MAX}, again = once;
    int64_t since_s;

    if (len < 3)
        return 0;
    make_log(bytes + 2, len - 2, &log);
    push(&once, &log, log.len, log.len, &whole);
    log_reader_end(&once, collect, &whole);

    push(&again, &log, log.len * bytes[1] / 256, (size_t)bytes[0] % 16 + 1, &broken);
    (void)log_reader_resume(&again, &since_s);
    push(&again, &log, log.len, (size_t)bytes[0] % 16 + 1, &broken);
    log_reader_end(&again, collect, &broken);
    if (!str_eq(str_text(&whole), str_text(&broken)) || whole.len != broken.len)
        abort();
    log_reader_release(&once);
    log_reader_release(&again);
    str_release(&log);
    str_release(&whole);
    str_release(&broken);
    return 0;
}
