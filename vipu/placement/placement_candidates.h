/* The clusters and allocations that a request can be placed in, by its cluster or allocation, its routing
 * and its listed IPUs; independent of what is free now. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/str.h"
#include "vipu/model/cluster.h"
#include "vipu/model/partition.h"

struct vipu_candidate {
    const struct vipu_cluster *cluster;
    const struct vipu_allocation *allocation;
};

/* Adds what is wrong with the cluster, allocation, routing and IPUs that a request names; true if nothing
 * is. */
bool vipu_candidates_check(const struct vipu_clusters *clusters, const struct vipu_requirements *r,
                           struct strv *problems);
/* for (size_t pos = 0; vipu_candidate_next(clusters, r, &pos, &candidate);) walks the allocations that a
 * request may go to. Without names these are whole clusters; one that lacks the cables for its routing is
 * passed over. */
bool vipu_candidate_next(const struct vipu_clusters *clusters, const struct vipu_requirements *r, size_t *pos,
                         struct vipu_candidate *ret);

/* The IPU in the mask of its domain; 0 if its number is out of range. */
static inline uint64_t vipu_ipu_bit(const struct vipu_ipu *ipu)
{
    return ipu->topology_id < VIPU_ILD_IPUS ? (uint64_t)1 << ipu->topology_id : 0;
}
