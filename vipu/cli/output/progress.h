/* Progress while a command waits: a line on a terminal with state and time, and a clear sentence when the
 * user interrupts it. If standard error is no terminal, there is no such line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool is_terminal;
    int64_t shown_s; /* the seconds that the line shows; -1: there is no line */
};

struct progress progress_new(void);
/* A vipu_sync_watch_fn; ctx is the struct progress. */
void progress_show(void *ctx, const char *id, const char *what, int64_t waited_ms);
void progress_end(struct progress *progress); /* erases the line */

/* From now on an interrupt (SIGINT, SIGTERM) prints this sentence and ends the program by that signal. Only
 * one at a time; the text is copied. */
void progress_on_interrupt(const char *sentence);
