/* Gives out the IPUs of a controller's clusters. It chooses places by the rule of blocks.h, or takes the IPUs
 * that a request lists; it keeps what is taken and what is out of order, per cluster, and an index of free
 * blocks per allocation. Who holds what is the caller's business, and so is time. Pure. The clusters outlive
 * it and do not change under it.
 *
 * Questions (everything that takes it const) have no effect. Requirements are those of the user API with
 * defaults filled in (shape.h); without a cluster and an allocation every cluster is looked at. */
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

/* What a cluster or an allocation has. Free, taken and failed add up to total. */
struct vipu_usage {
    uint32_t total;
    uint32_t free;
    uint32_t taken;   /* in partitions, whatever became of them */
    uint32_t failed;  /* out of order, and in no partition */
    uint32_t largest; /* size of the largest partition that fits */
};

/* A partition as it stands in somebody's way; everything is borrowed. */
struct vipu_holder {
    const struct vipu_cluster *cluster;
    const struct vipu_ipu *ipus;
    uint32_t size;
};

void vipu_allocator_init(struct vipu_allocator *a, const struct vipu_clusters *clusters);
void vipu_allocator_release(struct vipu_allocator *a);
void vipu_placement_release(struct vipu_placement *placement);

/* Adds what is wrong with the cluster, allocation, routing and IPUs that a request names, for ever and not
 * only now; true when nothing is. */
bool vipu_allocator_check(const struct vipu_allocator *a, const struct vipu_requirements *r,
                          struct strv *problems);
/* For requirements that passed every check. ERR_BUSY says what is free, or which listed IPU is not. Listed
 * IPUs may be out of order: whoever lists them wants those and no others. */
MUST_USE bool vipu_allocator_find(const struct vipu_allocator *a, const struct vipu_requirements *r,
                                  struct vipu_placement *ret, struct err *err);
/* Takes these IPUs, failed ones too. False when one does not exist or is taken already; then nothing is
 * taken. */
MUST_USE bool vipu_allocator_reserve(struct vipu_allocator *a, const struct vipu_cluster *cluster,
                                     const struct vipu_ipu *ipus, size_t count);
void vipu_allocator_unreserve(struct vipu_allocator *a, const struct vipu_cluster *cluster,
                              const struct vipu_ipu *ipus, size_t count);
/* Gives the IPUs of `placement` back, finds a place for `r` (cluster and allocation are the placement's own,
 * its listed IPUs do not count) where none is out of order, takes it, and changes `placement`. ERR_BUSY:
 * nothing has changed. */
MUST_USE bool vipu_allocator_relocate(struct vipu_allocator *a, const struct vipu_requirements *r,
                                      struct vipu_placement *placement, struct err *err);

/* These IPUs of a domain, and no others of it, are out of order: they are not offered to anybody. */
void vipu_allocator_set_failed(struct vipu_allocator *a, const struct vipu_cluster *cluster, size_t domain,
                               uint64_t ipus);
uint64_t vipu_allocator_failed(const struct vipu_allocator *a, const struct vipu_cluster *cluster,
                               size_t domain);
uint64_t vipu_allocator_taken(const struct vipu_allocator *a, const struct vipu_cluster *cluster,
                              size_t domain);

/* How many more such partitions fit now, side by side; of one that lists its IPUs, 0 or 1. */
uint32_t vipu_allocator_count(const struct vipu_allocator *a, const struct vipu_requirements *r);
/* Room of an allocation; each cluster's first one is the whole cluster. */
struct vipu_usage vipu_allocator_usage(const struct vipu_allocator *a, const struct vipu_cluster *cluster,
                                       const struct vipu_allocation *allocation);
/* Fills `blocker` (`count` entries) with the indices of the holders whose removal would make room at the
 * least cost in IPUs, ascending, and returns how many. 0: it fits already, or never will. */
size_t vipu_allocator_blockers(const struct vipu_allocator *a, const struct vipu_requirements *r,
                               const struct vipu_holder *holders, size_t count, size_t *blocker);
