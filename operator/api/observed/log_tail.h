/* What the last lines of a container's log tell: which is the last of them, and which worker those of a
 * launcher blame. ipu-launch says so (launcher/remote/client/remote.c) when it does
 * not hear from one, and Open MPI, 4.1 and 5, when its daemon there does not answer, which is often sooner.
 * They are lines of a job's own log, so they are believed in what its status says, and in nothing else. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/str.h"

struct lost_worker {
    uint32_t number;  /* over all instances, as in its pod's name */
    struct slice why; /* borrowed */
};

/* The first worker that did not answer, or no more. */
bool log_tail_lost_worker(const char *lines, struct lost_worker *ret);

/* The last line that has a letter or a digit and is the program's own; when there is nothing but mpirun's
 * report, the first of that. Cut to LASTWORDS_LINE_MAX bytes, never inside a character, without blanks around
 * it. Empty when there is none. */
#define LASTWORDS_LINE_MAX 200
struct slice log_tail_last_line(const char *lines);
