/* The placement that --index N names: the N-th aligned block of the partition's size, counted from 0 through
 * the IPU-Link domains of a cluster. Taken blocks count, too, so that a number always means the same IPUs.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "vipu/model/inventory.h"
#include "vipu/model/partition.h"

/* Makes the request list those IPUs; `ret_ipus` holds them and is owned by the caller. Without a cluster,
 * for controllers that do not implement the call, domains are assumed to have 64 IPUs each. The size is a
 * power of two, up to a domain's. */
MUST_USE bool partition_index_resolve(const struct vipu_cluster_entry *cluster, uint32_t index,
                                      struct vipu_requirements *r, struct vipu_ipu **ret_ipus,
                                      struct err *err);
