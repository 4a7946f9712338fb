/* Changes the hardware of a running controller, for a configuration that is read again: clusters, agents and
 * allocations may be added, and those that no partition uses may be removed. Pure. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/model/cluster.h"
#include "vipu/server/controller/controller.h"

/* The controller manages these clusters from now on; they must outlive it, and the caller releases the old
 * ones. False, with nothing changed, if a partition would lose an IPU or its allocation, or its cluster
 * would change its topology: `reasons` names them. A partition whose hardware was missing and is back can be
 * reset. */
MUST_USE bool controller_reconfigure(struct controller *c, const struct vipu_clusters *clusters,
                                     int64_t now_ms, struct strv *reasons);
