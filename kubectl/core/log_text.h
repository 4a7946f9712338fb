/* Lines of several logs in one output: in the order of their times as far as they are collected, each behind
 * its rank. Pure. */
#pragma once

#include "kubectl/core/log_reader.h"
#include "kubectl/core/table.h"

/* A rank's log, borrowed. */
struct log_source {
    const char *rank, *pod;
    enum paint paint;
    int64_t attempt; /* of the pod's instance */
};

struct log_format {
    struct look look;
    bool is_terminal; /* which gets what base/text/terminal.h says */
    bool timestamps, json;
    size_t rank_width; /* of the longest rank */
};

struct log_entry {
    const struct log_source *source;
    char *text;
    size_t len;
    char time[LOG_TIME_MAX];
    int64_t time_ns;
    uint64_t number; /* of arrival */
    bool is_continued;
};

struct log_merge {
    struct log_entry *entries;
    size_t count, capacity;
    size_t bytes;
    size_t max_bytes; /* beyond them, lines are left out; 0: none is */
    uint64_t number, left_out;
};

void log_merge_add(struct log_merge *merge, const struct log_source *source, const struct log_line *line);
/* Each that is collected, the oldest first. Nothing is kept. */
void log_merge_drain(struct log_merge *merge, void (*fn)(void *ctx, const struct log_entry *entry),
                     void *ctx);
/* Moves all that is collected to out, the oldest first. out may get `full`: give it a sufficient limit. */
void log_merge_flush(struct log_merge *merge, const struct log_format *format, struct str *out);
void log_merge_release(struct log_merge *merge);

/* The same color for the same rank. */
enum paint paint_of_rank(const char *rank);
