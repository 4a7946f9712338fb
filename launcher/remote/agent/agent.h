/* The agent of a worker pod: lets only the launcher of its own job run commands here, and runs the user's
 * own command beside them. Each remote command has a process of its own (session.h); this one has the
 * listener and reaps. One thread, no handlers, bounded connections and memory.
 *
 * When a launcher of a newer attempt connects, all processes of the older one are killed and reaped first.
 * SIGTERM and SIGINT end the agent: commands get SIGTERM, and it waits for them as `run` waits for its own.
 */
#pragma once

#include "base/core/err.h"
#include "launcher/env/envv.h"

struct agent_options {
    const struct envv *env; /* of the pod, as inherited */
    char **remote_env;      /* for remote commands */
    char *const *argv;      /* the user's own command, or NULL */
    char **own_env;         /* for that */
};

/* *ret is the exit status: 0, or that of the user's command if it had to be stopped. ERR_INVALID, ERR_IO:
 * the agent cannot start. */
MUST_USE bool agent_serve(const struct agent_options *options, int *ret, struct err *err);
