/* What people see while a command waits: a line on a terminal that tells state and time, and a clear sentence
 * when they interrupt it. Scripts, whose error output is no terminal, see nothing of the former. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool is_terminal;
    int64_t shown_s; /* the second that the line tells; -1: there is no line */
};

struct progress progress_new(void);
/* A vipu_sync_watch_fn; ctx is the struct progress. */
void progress_show(void *ctx, const char *id, const char *what, int64_t waited_ms);
void progress_end(struct progress *progress); /* takes the line away */

/* From now on an interrupt (SIGINT, SIGTERM) prints this sentence and ends the program by that signal. Only
 * one at a time; the text is copied. */
void progress_on_interrupt(const char *sentence);
