/* mpirun as a child: found, started with a plan, waited for. Signals that come meanwhile reach it. */
#pragma once

#include <signal.h>

#include "base/core/err.h"
#include "launcher/poprun/log/run_log.h"
#include "launcher/poprun/plan/plan.h"

/* Its path, by PATH. ERR_NOT_FOUND says what to install. Yours. */
MUST_USE bool mpirun_find(const char *path, char **ret, struct err *err);
char *mpirun_program(const char *path); /* the file that links lead to, without folders; yours */

/* Runs the plan; ret is an exit status: mpirun's, or 128 + n. Signals of the watch set are blocked and taken
 * here. mpirun's number is noted by itself, in memory that is shared with it. */
MUST_USE bool mpirun_run(struct plan *plan, const struct run_log *run_log, pid_t *noted, int *ret,
                         struct err *err);

/* What the guard sends to the runner, with the number of the signal that it has got: such a one is queued,
 * and never mistaken for the same signal that the runner got itself. */
#define MPIRUN_PASSED_ON SIGRTMIN

/* SIGCHLD, MPIRUN_PASSED_ON and the signals that are passed on. Blocked in guard and runner from the
 * beginning, so that none is lost. */
void mpirun_block_signals(void);
void mpirun_watched(sigset_t *ret);
