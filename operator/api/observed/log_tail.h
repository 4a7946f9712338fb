/* What the last lines of a container's log say: the last line itself, and which worker the lines of a
 * launcher report as lost. ipu-launch prints such a line (launcher/remote/client/remote.c) when it loses the
 * connection to one, and so does Open MPI, 4.1 and 5, when its daemon there stops responding, which is often
 * sooner. They are lines of a job's own log, so they are used in its status, and nowhere else. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/str.h"

struct lost_worker {
    uint32_t number;  /* over all instances, as in its pod's name */
    struct slice why; /* borrowed */
};

/* The first worker that was lost, or none. */
bool log_tail_lost_worker(const char *lines, struct lost_worker *ret);

/* The program's last line that has a letter or a digit; if there is only mpirun's report, the report's first
 * one. Truncated to LOG_TAIL_LINE_MAX bytes, never inside a character, and trimmed. Empty if there is none.
 */
#define LOG_TAIL_LINE_MAX 200
struct slice log_tail_last_line(const char *lines);
