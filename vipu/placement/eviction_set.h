/* Which partition uses which IPU of a row of IPU-Link domains, to find the partitions to remove so that
 * another fits, at the least cost in IPUs. Partitions are numbers below `count`. Pure; built for one query
 * and released after it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/mem.h"

struct vipu_eviction_set {
    size_t domain_count;
    size_t count;
    uint64_t
        *usable; /* per domain: IPUs that a partition may get once they are free; for the caller to fill */
    uint32_t *owner; /* per IPU of each domain: its partition's number plus one; 0 for none */
    uint32_t *sizes; /* per partition: its IPUs */
};

void vipu_eviction_set_init(struct vipu_eviction_set *set, size_t domain_count, size_t count);
void vipu_eviction_set_release(struct vipu_eviction_set *set);
DEFINE_AUTO(vipu_eviction_set);
void vipu_eviction_set_add(struct vipu_eviction_set *set, size_t domain, uint32_t ipu, size_t number);

/* Fills `blocker` (`count` entries) with the ascending numbers of the cheapest set and returns how many
 * there are and their cost in IPUs: none and 0 if it fits already. False if no removal makes it fit. */
bool vipu_eviction_set_cheapest(const struct vipu_eviction_set *set, uint32_t size, uint32_t num_ilds,
                                size_t *blocker, size_t *ret_count, uint64_t *ret_cost);
