/* What the last lines of a container's log say: which worker a launcher reports as lost or out of memory,
 * which rank failed first, and what that rank printed last. ipu-launch prints lines about workers
 * (launcher/remote/client/remote.c) and about its own container (launcher/inpod/main.c); Open MPI, 4.1 and 5,
 * reports a daemon that stops responding, often sooner, and the rank. They are lines of a job's own log, so
 * they are used in its status, and nowhere else. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/str.h"

/* A restarted pod's log begins with lines of the attempt before it, up to this one
 * (launcher/inpod/previous_attempt.h). What follows it; all lines without it. Borrowed. */
const char *log_tail_of_attempt(const char *lines);

struct lost_worker {
    uint32_t number;  /* over all instances, as in its pod's name */
    struct slice why; /* borrowed */
    bool out_of_memory;
};

/* The first worker that ran out of memory, otherwise the first that was lost, or none. */
bool log_tail_lost_worker(const char *lines, struct lost_worker *ret);
bool log_tail_is_out_of_memory(const char *lines); /* the container that printed them */

/* The rank that mpirun blames for the end of all. */
struct failed_rank {
    uint32_t rank;
    int signal, exit_code; /* 0: mpirun reports the other, or neither */
    struct slice host;     /* where it ran; empty if mpirun does not tell. Borrowed */
};

bool log_tail_failed_rank(const char *lines, struct failed_rank *ret);
/* mpirun itself failed: its exit code is none of a program. */
bool log_tail_is_of_mpirun(const char *lines);

/* The lines between the reports of mpirun, and without what it adds to them; all lines of another program.
 * Owned by the caller. */
char *log_tail_without_reports(const char *lines);

/* The program that mpirun could not start. Borrowed. */
struct missing_program {
    struct slice name, host; /* host: empty if mpirun does not tell */
};

bool log_tail_missing_program(const char *lines, struct missing_program *ret);

/* The failed rank's last line, without its tag, of standard error if there is one. If no rank is known to
 * have failed, the last line that no rank has printed; if there is only mpirun's report, the report's first
 * one. After a traceback of Python, its exception. Lines have a letter or a digit, and say more than what
 * Open MPI adds to each error. Truncated to LOG_TAIL_LINE_MAX bytes, never inside a character, and trimmed.
 * Empty if there is none, and for the report of a missing program. A report of too few slots is replaced by
 * one that names the field. */
#define LOG_TAIL_LINE_MAX 200
struct slice log_tail_last_line(const char *lines);
/* The lines with what a terminal shows of each in the end: a progress bar goes back by "\r". Caller frees. */
char *log_tail_without_bars(const char *lines);
