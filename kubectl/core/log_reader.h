/* One container's log as the API server sends it with timestamps=true, cut into whole lines; and where to
 * continue after its stream has broken, without loss or repetition. Pure.
 *
 * The API takes a time in whole seconds to continue from. What it sends again is recognized by the time of
 * each line, in nanoseconds. A line longer than piece_max is reported in pieces, so that memory is
 * bounded. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/str.h"

#define LOG_PIECE_MAX ((size_t)1024 * 1024)
#define LOG_TIME_MAX 36 /* "2026-11-26T17:20:43.123456789+01:00" */

/* Borrowed for the callback. */
struct log_line {
    struct slice text; /* without its \n; any bytes */
    struct slice time; /* as received; empty if the line has none */
    int64_t time_ns;   /* never less than that of the line before */
    bool is_continued; /* the beginning of the line was reported before */
};

typedef void (*log_line_fn)(void *ctx, const struct log_line *line);

struct log_reader {
    size_t piece_max; /* at most LOG_PIECE_MAX */
    struct str buffer;
    char time[LOG_TIME_MAX];
    size_t time_len;
    bool has_time;    /* of the current line, in `time` */
    int64_t line_ns;  /* of the current line */
    int64_t last_ns;  /* of the last whole line; 0: none */
    int64_t order_ns; /* of the last line reported, as reported */
    unsigned repeats; /* whole lines with exactly last_ns */
    size_t reported;  /* bytes of the current line */
    /* After log_reader_resume. */
    bool is_resuming;
    unsigned repeats_left; /* lines with exactly last_ns that are still to be dropped */
    size_t reported_left;  /* bytes of the line that the stream broke in */
};

/* The longest piece of a line for each of so many readers, so that unfinished lines together have at most
 * `bytes`. */
size_t log_piece_max(size_t bytes, uint32_t readers);
void log_reader_release(struct log_reader *reader);
void log_reader_push(struct log_reader *reader, const char *bytes, size_t len, log_line_fn fn, void *ctx);
/* The log has ended: what is left is the last line. */
void log_reader_end(struct log_reader *reader, log_line_fn fn, void *ctx);
/* The stream has ended, the log perhaps not. False: nothing was read, ask as the first time. Else ask with
 * sinceTime=*ret_since_s. */
bool log_reader_resume(struct log_reader *reader, int64_t *ret_since_s);
