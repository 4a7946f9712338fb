/* Blocks of IPUs in IPU-Link domains, as bits: the buddy rule without a tree. A domain is 64 bits, one per
 * topology id; a block of size s starts at a multiple of s. Pure arithmetic over what is usable and what is
 * busy: it says where a partition fits and how often, and changes nothing. A domain that is not usable at all
 * ends a run of consecutive domains, so callers put one between clusters. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vipu_domain {
    uint64_t usable; /* IPUs that exist, work, and are open to whoever asks */
    uint64_t busy;   /* IPUs in partitions */
};

struct vipu_place {
    size_t domain;  /* first domain */
    uint32_t start; /* topology id of the block's first IPU, the same in each domain */
};

uint64_t vipu_block_mask(uint32_t start, uint32_t size); /* size 1..64, start + size <= 64 */
/* One bit at the start of each aligned block of `size` (a power of two up to 64) that is wholly in `free`. */
uint64_t vipu_block_starts(uint64_t free, uint32_t size);

/* Where a partition of size IPUs over num_ilds consecutive domains goes so that it breaks up the least: into
 * the smallest free block that holds it, the lowest one of those. False when it does not fit; both are powers
 * of two, or false. */
bool vipu_place_find(const struct vipu_domain *domains, size_t count, uint32_t size, uint32_t num_ilds,
                     struct vipu_place *ret);
/* How many such partitions fit side by side. */
uint32_t vipu_place_count(const struct vipu_domain *domains, size_t count, uint32_t size, uint32_t num_ilds);
