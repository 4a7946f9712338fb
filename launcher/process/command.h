/* Finds and starts the user's command. Arguments are passed on unchanged. Names without a slash are searched
 * in the command's own PATH as execvp does, but a file that is not a program is never passed to /bin/sh:
 * without the launcher the container runtime would not do that either, and the error would be about shell
 * syntax. */
#pragma once

#include <sys/types.h>

#include "base/core/err.h"
#include "launcher/process/signals.h"

/* Exit statuses as of env(1) and timeout(1). */
#define COMMAND_EXIT_LAUNCHER 125       /* the launcher itself failed */
#define COMMAND_EXIT_NOT_EXECUTABLE 126 /* the command exists but cannot be started */
#define COMMAND_EXIT_NOT_FOUND 127      /* the command does not exist */

struct command {
    char *const *argv; /* NULL-terminated, at least one word */
    char **envp;
    bool kill_with_parent; /* SIGKILL when this process ends (PR_SET_PDEATHSIG) */
};

/* Returns only after a failure. ERR_NOT_FOUND, ERR_DENIED: the command's fault. */
bool command_exec(const struct command *command, struct err *err);

/* Starts it in a process group of its own, in the terminal's foreground if this process was there. Returns
 * when it runs. Also ERR_IO: the system cannot start another process. */
MUST_USE bool command_start(const struct command *command, const struct signals *inherited, pid_t *ret,
                            struct err *err);

int command_exit_status(const struct err *err); /* 125, 126 or 127 */
