/* The remote agent: the program, usually ssh, with which mpirun starts itself on other hosts, chosen by the
 * rules of Open MPI. And the meaning of its error messages. Pure. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"

/* Appends the command of the agent: from `--mca plm_rsh_agent` among mpirun's arguments, else from the
 * variables with the same meaning, else ssh. */
void rsh_agent_choose(const struct strv *global_words, const char *(*env)(const char *name),
                      struct strv *agent);
/* The value of the variables, or NULL. Borrowed. */
const char *rsh_agent_variable(const char *(*env)(const char *name));
/* Fills err with the reason why `host` cannot be reached, from the agent's output, and what to do. Returns
 * false. */
bool rsh_agent_explain_error(const char *host, const char *agent, const char *printed, struct err *err);
