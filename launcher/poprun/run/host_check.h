/* Asks the remote agent, before anything else is done, whether programs can be started on each host. Agents
 * never ask back: they have no input, and ssh is told so. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"

/* One sentence in `problems` for each host that cannot be reached. This host is not asked if it may be among
 * them; telling looks names up. */
void hosts_check_reachable(const struct strv *hosts, const struct strv *agent, bool may_be_here,
                           struct strv *problems);
