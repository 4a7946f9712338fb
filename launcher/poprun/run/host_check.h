/* Uses the remote agent, before anything else, to check whether programs can be started on each host. Agents
 * never prompt: they have no input, and ssh gets an option for that. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"

/* One sentence in `problems` for each host that cannot be reached. This host is skipped if it may be among
 * them; finding out resolves names. */
void hosts_check_reachable(const struct strv *hosts, const struct strv *agent, bool may_be_here,
                           struct strv *problems);
