/* The agent of a worker pod: lets the launcher of its own job run commands here, and nobody else, and runs
 * the user's own command beside that. Each remote command has a process of its own (session.h); this one
 * holds the listener and reaps. One thread, no handlers, bounded in connections and memory whatever comes.
 *
 * A launcher of a newer attempt first has everything of the older one killed and reaped. SIGTERM and SIGINT
 * end the agent: commands are told, and waited for as `run` waits for its own. */
#pragma once

#include "base/core/err.h"
#include "launcher/env/envv.h"

struct agent_options {
    const struct envv *env; /* the pod's, as it came */
    char **remote_env;      /* for remote commands */
    char *const *argv;      /* the user's own command, or NULL */
    char **own_env;         /* for that */
};

/* *ret is the exit status: 0, or that of the user's command if it had to be told to end. ERR_INVALID, ERR_IO:
 * the agent cannot begin. */
MUST_USE bool agent_serve(const struct agent_options *options, int *ret, struct err *err);
