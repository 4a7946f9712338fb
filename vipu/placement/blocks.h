/* The free blocks of a row of IPU-Link domains: the buddy rule as sets of bits instead of trees. A domain is
 * 64 bits, one per topology id; a block of size s (a power of two) starts at a multiple of s. A partition
 * over several domains has the same block in consecutive ones; a domain with nothing free ends such a run,
 * so callers put an empty one between clusters.
 *
 * For each of a domain's 127 blocks there is the set of domains where it is free, so a query takes time by
 * the number of blocks, not of domains. It does not know who owns an IPU or why it is not free. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/mem.h"
#include "vipu/model/cluster.h"

struct vipu_place {
    size_t domain;              /* the first one */
    uint32_t start;             /* topology id of the block's first IPU, the same in each domain */
    uint32_t parent_block_size; /* size of the free block that it is cut from: in each domain, or of whole
                                   domains in total */
};

struct vipu_blocks {
    size_t domain_count;
    size_t words;               /* of one set of domains, in 64-bit words */
    uint64_t *free;             /* per domain: its free IPUs */
    uint64_t *sets;             /* see blocks.c */
    uint32_t count_by_order[7]; /* free aligned blocks of 1, 2, 4 ... 64 IPUs, including those inside larger
                                   ones */
};

/* Nothing is free at first. */
void vipu_blocks_init(struct vipu_blocks *blocks, size_t domain_count);
void vipu_blocks_release(struct vipu_blocks *blocks);
DEFINE_AUTO(vipu_blocks);
struct vipu_blocks vipu_blocks_copy(const struct vipu_blocks *from); /* deep copy */
void vipu_blocks_set_free(struct vipu_blocks *blocks, size_t domain, uint64_t ipus);
/* The same for consecutive domains, much faster if neighbours are alike. */
void vipu_blocks_set_run(struct vipu_blocks *blocks, size_t first, size_t count, const uint64_t *ipus);

uint32_t vipu_blocks_free(const struct vipu_blocks *blocks); /* IPUs in all */

/* The placement of `size` IPUs over `num_ilds` consecutive domains that fragments least: cut from the
 * smallest free block that contains it. Consecutive wholly free domains are one block, of the largest power
 * of two of them. Then the fuller domain comes first (for a placement in one domain), the lowest domain, the
 * lowest IPU. A placement over several domains, or in a wholly free one, starts where its run of such
 * domains starts, so that no run is split. False if it does not fit, or if one of the numbers is not a power
 * of two. */
bool vipu_blocks_find(const struct vipu_blocks *blocks, uint32_t size, uint32_t num_ilds,
                      struct vipu_place *ret);
/* How many of them fit at the same time: exactly as often as find and take succeed. */
uint32_t vipu_blocks_count(const struct vipu_blocks *blocks, uint32_t size, uint32_t num_ilds);
/* Size of the largest partition that fits, over any number of domains; 0 if nothing is free. */
uint32_t vipu_blocks_largest(const struct vipu_blocks *blocks);
/* Removes the placement from the free IPUs. */
void vipu_blocks_reserve(struct vipu_blocks *blocks, const struct vipu_place *place, uint32_t size,
                         uint32_t num_ilds);
