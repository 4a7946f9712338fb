/* Allocates the IPUs of a controller's clusters. It chooses placements by the rule of blocks.h, or takes the
 * IPUs that a request lists. It tracks which IPUs are taken and which have failed, per cluster, with an
 * index of free blocks per allocation. Who owns an IPU is the caller's business, and so is time. Pure. The
 * clusters must outlive it and stay unchanged.
 *
 * Queries (every function that takes it const) have no effect. Requirements are those of the user API with
 * defaults filled in (shape.h); without a cluster and an allocation every cluster is considered. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/model/cluster.h"
#include "vipu/model/partition.h"

struct vipu_allocator {
    const struct vipu_clusters *clusters;
    struct vipu_ledger *ledgers; /* per cluster */
};

/* Where a partition is, or could be. */
struct vipu_placement {
    const struct vipu_cluster *cluster;
    const struct vipu_allocation *allocation;
    struct vipu_ipu *ipus; /* one per IPU, by routing id; owned */
};

/* Capacity of a cluster or an allocation. Free, taken and failed add up to total. */
struct vipu_usage {
    uint32_t total;
    uint32_t free;
    uint32_t taken;   /* in partitions, failed or not */
    uint32_t failed;  /* failed, and in no partition */
    uint32_t largest; /* size of the largest partition that fits */
};

/* A partition that may block a request; everything is borrowed. */
struct vipu_holder {
    const struct vipu_cluster *cluster;
    const struct vipu_ipu *ipus;
    uint32_t size;
};

void vipu_allocator_init(struct vipu_allocator *a, const struct vipu_clusters *clusters);
void vipu_allocator_release(struct vipu_allocator *a);
void vipu_placement_release(struct vipu_placement *placement);

/* Adds what is permanently wrong with the cluster, allocation, routing and IPUs that a request names; true
 * if nothing is. */
bool vipu_allocator_check(const struct vipu_allocator *a, const struct vipu_requirements *r,
                          struct strv *problems);
/* For requirements that passed every check. ERR_BUSY says what is free, or which listed IPU is not;
 * ERR_INVALID that they would not fit into empty clusters either. Listed IPUs may have failed: listing an IPU
 * asks for exactly that one. */
MUST_USE bool vipu_allocator_find(const struct vipu_allocator *a, const struct vipu_requirements *r,
                                  struct vipu_placement *ret, struct err *err);
/* Takes these IPUs, failed ones too. False if one does not exist or is taken already; then nothing is taken.
 */
MUST_USE bool vipu_allocator_reserve(struct vipu_allocator *a, const struct vipu_cluster *cluster,
                                     const struct vipu_ipu *ipus, size_t count);
void vipu_allocator_unreserve(struct vipu_allocator *a, const struct vipu_cluster *cluster,
                              const struct vipu_ipu *ipus, size_t count);
/* Releases the IPUs of `placement`, finds a placement for `r` without failed IPUs (the cluster and
 * allocation of the old placement are used, listed IPUs are ignored), takes it, and updates `placement`.
 * ERR_BUSY: nothing has changed. */
MUST_USE bool vipu_allocator_relocate(struct vipu_allocator *a, const struct vipu_requirements *r,
                                      struct vipu_placement *placement, struct err *err);

/* Marks exactly these IPUs of a domain as failed: they are not allocated. */
void vipu_allocator_set_failed(struct vipu_allocator *a, const struct vipu_cluster *cluster, size_t domain,
                               uint64_t ipus);
uint64_t vipu_allocator_failed(const struct vipu_allocator *a, const struct vipu_cluster *cluster,
                               size_t domain);
uint64_t vipu_allocator_taken(const struct vipu_allocator *a, const struct vipu_cluster *cluster,
                              size_t domain);

/* How many more such partitions fit now, at the same time; 0 or 1 for one that lists its IPUs. */
uint32_t vipu_allocator_count(const struct vipu_allocator *a, const struct vipu_requirements *r);
/* Capacity of an allocation; each cluster's first one is the whole cluster. */
struct vipu_usage vipu_allocator_usage(const struct vipu_allocator *a, const struct vipu_cluster *cluster,
                                       const struct vipu_allocation *allocation);
/* Fills `blocker` (`count` entries) with the ascending indices of the partitions whose removal would free
 * enough IPUs at the least cost in IPUs, and returns how many. 0: it fits already, or never will. */
size_t vipu_allocator_blockers(const struct vipu_allocator *a, const struct vipu_requirements *r,
                               const struct vipu_holder *holders, size_t count, size_t *blocker);
