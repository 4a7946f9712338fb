/* The log of a run: lines like "10:10:50.154 1 POPRUN [D] text". What is done tells it; where a line goes is
 * the caller's, so that tests read it. */
#pragma once

#include <stdint.h>

#include "base/core/str.h"

enum journal_level { JOURNAL_ERROR, JOURNAL_WARNING, JOURNAL_INFO, JOURNAL_DEBUG, JOURNAL_TRACE };

struct journal {
    enum journal_level most; /* lines beyond this level are dropped */
    void (*put)(void *ctx, enum journal_level level, const char *text);
    void *ctx;
};

void journal_add(const struct journal *journal, enum journal_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

struct journal_stamp {
    int hour, minute, second, millisecond;
    int64_t pid;
};

/* A whole line, with its end. */
void journal_line(const struct journal_stamp *stamp, enum journal_level level, const char *text,
                  struct str *out);
