/* The parent of a job's command, as process 1 of a container or not. It passes signals on to the command's
 * process group, reaps every orphan, and ends with the command's exit status (128 + n after signal n). No
 * handlers, no threads, no /proc.
 *
 * How it ends:
 * - After SIGTERM there is no hurry: it waits until all descendants are gone, since one of them may be
 * writing a checkpoint; the sender's patience (the pod's grace period) is the only limit. What has left the
 * command's group is told, once, when the group is gone.
 * - Without SIGTERM the container ends with its command, as it would without the launcher. What is left
 * behind may end by itself for half a second (a `tee` empties its pipe), then gets SIGTERM, and SIGKILL two
 * seconds later. Processes outside the command's group can be told only as process 1; elsewhere they are the
 * runtime's to end. */
#pragma once

#include "launcher/process/command.h"

/* *ret is the exit status. Fails when the command cannot be started. */
MUST_USE bool supervise_command(const struct command *command, int *ret, struct err *err);

/* Keeps a pod alive without a command until SIGTERM or SIGINT; orphans are reaped and told to end then. */
void supervise_hold(void);
