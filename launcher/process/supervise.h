/* The parent of a job's command, as process 1 of a container or not. It passes signals on to the command's
 * process group, reaps every orphan, and exits with the command's exit status (128 + n after signal n). No
 * handlers, no threads, no /proc.
 *
 * How it ends:
 * - After SIGTERM it waits until all descendants are gone, because one of them may be writing a checkpoint;
 *   the only limit is the pod's grace period. Processes outside the command's group get SIGTERM once, when
 *   the group is empty.
 * - Without SIGTERM the container ends with its command, as it would without the launcher. What is left
 *   behind has half a second to end by itself (a `tee` empties its pipe), then gets SIGTERM, and SIGKILL
 *   two seconds later. Processes outside the command's group can only be signalled as process 1; elsewhere
 *   the runtime ends them. */
#pragma once

#include "launcher/process/command.h"

/* *ret is the exit status. Fails if the command cannot be started. */
MUST_USE bool supervise_command(const struct command *command, int *ret, struct err *err);

/* Keeps a pod alive without a command until SIGTERM or SIGINT; orphans are reaped, and ended then. */
void supervise_hold(void);
