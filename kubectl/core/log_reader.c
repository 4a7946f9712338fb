#include "kubectl/core/log_reader.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"

#define NS_PER_S INT64_C(1000000000)

size_t log_piece_max(size_t bytes, uint32_t readers)
{
    size_t share = bytes / readers;

    return share < LOG_PIECE_MAX ? share : LOG_PIECE_MAX;
}

void log_reader_release(struct log_reader *reader)
{
    str_release(&reader->buffer);
}

static int64_t nanoseconds(const char *time)
{
    int64_t seconds, fraction = 0, unit = NS_PER_S / 10;
    const char *at = strchr(time, '.');

    if (!timefmt_parse_rfc3339(time, &seconds))
        return -1;
    for (at = at ? at + 1 : ""; *at >= '0' && *at <= '9'; at++, unit /= 10)
        fraction += (*at - '0') * unit;
    return seconds * NS_PER_S + fraction;
}

/* Takes the time from the beginning of the current line, once it is there. False: more bytes are needed. */
static bool take_time(struct log_reader *reader, bool is_whole)
{
    const char *bytes = str_text(&reader->buffer), *blank = memchr(bytes, ' ', reader->buffer.len);
    size_t len = blank ? (size_t)(blank - bytes) : reader->buffer.len;
    int64_t ns = -1;

    if (reader->has_time)
        return true;
    if (!blank && !is_whole && len < LOG_TIME_MAX)
        return false;
    reader->time_len = 0;
    if (len < LOG_TIME_MAX) {
        memcpy(reader->time, bytes, len);
        reader->time[len] = '\0';
        ns = nanoseconds(reader->time);
    }
    if (ns >= 0) {
        reader->time_len = len;
        str_drop(&reader->buffer, len + (blank != NULL));
    }
    reader->line_ns = ns >= 0 ? ns : reader->last_ns; /* the kubelet's own messages have no time */
    reader->has_time = true;
    return true;
}

/* The current line was there before the stream broke. */
static bool is_known(const struct log_reader *reader)
{
    return reader->is_resuming && (reader->line_ns < reader->last_ns ||
                                   (reader->line_ns == reader->last_ns && reader->repeats_left > 0));
}

static void report(struct log_reader *reader, size_t len, log_line_fn fn, void *ctx)
{
    size_t known = reader->reported_left < len ? reader->reported_left : len;

    reader->order_ns = reader->line_ns > reader->order_ns ? reader->line_ns : reader->order_ns;
    if (known < len || reader->reported + reader->reported_left == 0)
        fn(ctx,
           &(struct log_line){.text = {reader->buffer.ptr ? reader->buffer.ptr + known : "", len - known},
                              .time = {reader->time, reader->time_len},
                              .time_ns = reader->order_ns,
                              .is_continued = reader->reported > 0 || reader->reported_left > 0});
    reader->reported_left -= known;
    reader->reported += len;
}

static void end_line(struct log_reader *reader)
{
    if (is_known(reader)) {
        reader->repeats_left -= reader->line_ns == reader->last_ns;
    } else {
        reader->repeats = reader->line_ns == reader->last_ns ? reader->repeats + 1 : 1;
        reader->last_ns = reader->line_ns;
        reader->is_resuming = false;
        reader->reported_left = 0;
    }
    reader->reported = 0;
    reader->has_time = false;
}

/* Bytes of the current line without its \n. Drops them from the buffer. */
static void take_part(struct log_reader *reader, bool is_whole, log_line_fn fn, void *ctx)
{
    if (!take_time(reader, is_whole))
        return;
    if (is_whole || reader->buffer.len >= reader->piece_max || is_known(reader)) {
        if (!is_known(reader))
            report(reader, reader->buffer.len, fn, ctx);
        str_clear(&reader->buffer);
    }
    if (is_whole)
        end_line(reader);
}

/* Pieces of long lines end where piece_max is reached, wherever the network cuts. */
void log_reader_push(struct log_reader *reader, const char *bytes, size_t len, log_line_fn fn, void *ctx)
{
    reader->buffer.max = reader->piece_max + LOG_TIME_MAX + 1;
    while (len > 0) {
        size_t room = reader->piece_max - (reader->buffer.len < reader->piece_max ? reader->buffer.len : 0);
        size_t some = len < room ? len : room;
        const char *end = memchr(bytes, '\n', some);

        some = end ? (size_t)(end - bytes) : some;
        str_add(&reader->buffer, bytes, some);
        take_part(reader, end != NULL, fn, ctx);
        some += end != NULL;
        bytes += some;
        len -= some;
    }
}

void log_reader_end(struct log_reader *reader, log_line_fn fn, void *ctx)
{
    if (reader->buffer.len > 0 || reader->reported > 0)
        take_part(reader, true, fn, ctx);
}

bool log_reader_resume(struct log_reader *reader, int64_t *ret_since_s)
{
    str_clear(&reader->buffer);
    reader->reported_left += reader->reported;
    reader->reported = 0;
    reader->has_time = false;
    reader->is_resuming = reader->last_ns > 0;
    reader->repeats_left = reader->repeats;
    *ret_since_s = reader->last_ns / NS_PER_S;
    return reader->last_ns > 0;
}
