/* Other hardware under a running controller, for a configuration that is read again: clusters, agents and
 * allocations may come, and those that no partition uses may go. Pure. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/model/cluster.h"
#include "vipu/server/controller/controller.h"

/* From now on the controller looks after these clusters, which outlive it; the old ones are the caller's to
 * release. False, with nothing changed, when a partition would lose an IPU or its allocation, or its cluster
 * another topology: `reasons` names them. A partition whose hardware was gone and is back may be reset. */
MUST_USE bool controller_reconfigure(struct controller *c, const struct vipu_clusters *clusters,
                                     int64_t now_ms, struct strv *reasons);
