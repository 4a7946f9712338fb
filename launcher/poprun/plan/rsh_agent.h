/* The remote agent: the program, mostly ssh, by which mpirun starts itself on other hosts; chosen as Open MPI
 * chooses it. And what its complaints mean. Pure. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"

/* Appends the words of the agent: of `--mca plm_rsh_agent` among mpirun's words, else of the variables that
 * mean the same, else ssh. */
void rsh_agent_choose(const struct strv *global_words, const char *(*env)(const char *name),
                      struct strv *agent);
/* What the variables say, or NULL. Borrowed. */
const char *rsh_agent_variable(const char *(*env)(const char *name));
/* Fills err with why `host` cannot be reached, from what the agent printed, and the cure. Returns false. */
bool rsh_agent_explain_error(const char *host, const char *agent, const char *printed, struct err *err);
