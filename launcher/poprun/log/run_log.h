/* The log of a run: lines like "10:10:50.154 1 POPRUN [D] text". The caller decides where a line goes, so
 * that tests can read it. */
#pragma once

#include <stdint.h>

#include "base/core/str.h"

enum run_log_level { RUN_LOG_ERROR, RUN_LOG_WARNING, RUN_LOG_INFO, RUN_LOG_DEBUG, RUN_LOG_TRACE };

struct run_log {
    enum run_log_level most; /* lines beyond this level are dropped */
    void (*put)(void *ctx, enum run_log_level level, const char *text);
    void *ctx;
};

void run_log_write(const struct run_log *log, enum run_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

struct run_log_stamp {
    int hour, minute, second, millisecond;
    int64_t pid;
};

/* A complete line, with its newline. */
void run_log_line(const struct run_log_stamp *stamp, enum run_log_level level, const char *text,
                  struct str *out);
