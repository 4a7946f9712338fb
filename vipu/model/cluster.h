/* The hardware that a controller manages: clusters of IPU-Link domains, the agents (one per IPU-Machine) in
 * them, and the allocations that users are given. Built once from configuration; owned contents, freed by
 * vipu_clusters_release. An agent's IPUs have consecutive topology ids in its domain, so an allocation is a
 * mask per domain. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vipu/model/partition.h"

#define VIPU_DOMAIN_AGENTS (VIPU_ILD_IPUS / VIPU_AGENT_IPUS)

struct vipu_machine {
    char *name;     /* of its agent */
    char *ipuof_ip; /* on the RDMA network */
    bool is_bow;    /* a Bow-2000; else an M2000 */
};

struct vipu_cluster_domain {
    struct vipu_machine machines[VIPU_DOMAIN_AGENTS]; /* machine m has topology ids 4 m to 4 m + 3 */
    uint32_t machine_count;
};

struct vipu_allocation {
    char *id;
    uint64_t *usable; /* one mask per domain of the cluster */
};

struct vipu_cluster {
    char *id;
    bool torus;    /* whether the domains' IPU-Links have loop (wrap) cables */
    bool looped;   /* whether the gateway links between domains have them */
    bool switched; /* whether the gateway links go through switches; not together with loop cables */
    struct vipu_cluster_domain *domains;
    size_t domain_count;
    struct vipu_allocation
        *allocations; /* the first one has the cluster's own name and contains all of its agents */
    size_t allocation_count;
};

struct vipu_clusters {
    struct vipu_cluster *items;
    size_t count;
};

void vipu_clusters_release(struct vipu_clusters *clusters);
uint64_t vipu_domain_ipus(const struct vipu_cluster_domain *domain); /* mask of the agent's IPUs */

struct vipu_cluster *vipu_clusters_find(const struct vipu_clusters *clusters, const char *id);
/* The allocation of that name and its cluster. */
const struct vipu_allocation *vipu_clusters_allocation(const struct vipu_clusters *clusters, const char *id,
                                                       const struct vipu_cluster **ret_cluster);

/* The mask of the IPUs [start, start + size) of a domain; size 1..64, start + size <= 64. */
uint64_t vipu_block_mask(uint32_t start, uint32_t size);
