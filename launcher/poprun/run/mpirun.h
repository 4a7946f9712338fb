/* mpirun as a child: found, started with a plan, waited for. Signals are passed on to it. */
#pragma once

#include <signal.h>

#include "base/core/err.h"
#include "launcher/poprun/log/run_log.h"
#include "launcher/poprun/plan/plan.h"

/* Its path, by PATH. ERR_NOT_FOUND says what to install. The caller frees it. */
MUST_USE bool mpirun_find(const char *path, char **ret, struct err *err);
/* What mpirun could execute by this name here. */
bool mpirun_finds_program(const char *path, const char *name);
char *
mpirun_program(const char *path); /* the file that links lead to, without folders; the caller frees it */

/* True if the system rejects the plan's command, as too long, from this environment. */
bool mpirun_command_is_too_long(const struct plan *plan);
/* Puts app_lines into a file without a name, which mpirun inherits, and adds it to argv. So nothing has to be
 * removed, whatever is killed. */
MUST_USE bool mpirun_add_app_file(struct plan *plan, struct err *err);

/* Runs the plan; ret is an exit status: mpirun's, or 128 + n. Signals of the watch set are blocked and read
 * here. mpirun stores its own process id, in shared memory. */
MUST_USE bool mpirun_run(struct plan *plan, const struct run_log *log, pid_t *noted, int *ret,
                         struct err *err);

/* What the guard sends to the runner, with the number of the signal that it received: such a signal is
 * queued, and never confused with the same signal received by the runner itself. */
#define MPIRUN_PASSED_ON SIGRTMIN

/* SIGCHLD, MPIRUN_PASSED_ON and the signals that are passed on. Blocked in guard and runner from the start,
 * so that none is lost. */
void mpirun_block_signals(void);
void mpirun_watched(sigset_t *ret);
