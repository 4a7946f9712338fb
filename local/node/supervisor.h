/* The process between ipu-run and a container's command: it starts the command, takes orders by a socket, and
 * reports by it. Each message is one byte, after some of them a number. */
#pragma once

#include "local/node/container_spec.h"

enum supervisor_order { ORDER_TERMINATE = 'T', ORDER_KILL = 'K', ORDER_PROBE = 'P' };
enum supervisor_report {
    REPORT_PROBED = 'p',     /* int: exit status */
    REPORT_ENDED = 'e',      /* int: exit status */
    REPORT_OOM_KILLED = 'o', /* the same; the kernel has killed a process, as memory had reached its limit */
    REPORT_FAILED = 'f',     /* the rest is text: why the command could not be started */
};

/* Runs in a new process, and does not return. */
_Noreturn void supervisor_run(const struct container_spec *spec, int socket, int out, int err);
