/* One remote command on the worker's side, in a process of its own: the agent's child, and the parent of
 * whatever the command leaves behind, so that no process is ever lost.
 *
 * How it ends:
 * - The command ends by itself: its exit status is sent after the last byte of output. What it leaves
 *   behind lives on, as after ssh: Open MPI's daemon does. It is not signalled, in its process group or
 *   not, because a daemon may not have left the group yet.
 * - The client or the connection is lost before the client has confirmed the exit status: the whole tree,
 *   including daemons, gets SIGTERM, and SIGKILL two seconds later.
 * - SIGTERM (the worker is to end) goes to the whole tree, once, and then there is no time limit.
 * - SIGQUIT (the attempt is over, or the agent is dead): SIGKILL for the whole tree at once. */
#pragma once

#include "launcher/process/signals.h"
#include "launcher/remote/protocol/agent_conn.h"

/* Returns when no process of the session is left. Takes ownership of the connection; all signals are
 * blocked. */
void session_run(struct agent_conn *conn, const char *line, char **envp, const struct signals *inherited);
