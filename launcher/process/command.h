/* The user's command: found, started, or why not. Arguments are passed on as they came. Names without a slash
 * are searched in the command's own PATH as execvp does, but a file that is no program is never fed to
 * /bin/sh: without the launcher the container runtime would not do that either, and its complaint would be
 * about syntax. */
#pragma once

#include <sys/types.h>

#include "base/core/err.h"
#include "launcher/process/signals.h"

/* As env(1) and timeout(1) end. */
#define COMMAND_EXIT_LAUNCHER 125  /* the launcher itself failed */
#define COMMAND_EXIT_CANNOT 126    /* the command is there but cannot be started */
#define COMMAND_EXIT_NOT_FOUND 127 /* there is no such command */

struct command {
    char *const *argv; /* NULL-terminated, at least one word */
    char **envp;
    bool dies_with_us; /* SIGKILL when this process ends, however it does */
};

/* Returns only with a failure. ERR_NOT_FOUND, ERR_DENIED: the command's fault. */
bool command_exec(const struct command *command, struct err *err);

/* Starts it in a process group of its own, in the terminal's foreground if we were there. Returns when it
 * runs. Also ERR_IO: the system has no room for a process. */
MUST_USE bool command_start(const struct command *command, const struct signals *inherited, pid_t *ret,
                            struct err *err);

int command_exit_status(const struct err *err); /* 125, 126 or 127 */
