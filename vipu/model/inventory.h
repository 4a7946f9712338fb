/* The inventory of a controller as received: allocations, clusters, and their capacity. For display only;
 * vipu/model/cluster.h is the hardware itself. Owned contents. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/str.h"

struct vipu_allocation_entry {
    char *id;
    char *cluster_id;
    struct strv agents;
};

struct vipu_allocation_list {
    struct vipu_allocation_entry *items;
    size_t count;
};

struct vipu_domain_entry {
    struct strv agents; /* those the caller may use */
    uint32_t ipu_count; /* of those allocations */
    uint32_t size;      /* of the domain, of all allocations */
};

struct vipu_cluster_entry {
    char *id;
    char *topology;         /* torus or mesh */
    char *cluster_topology; /* looped, unlooped or switched */
    struct vipu_domain_entry *domains;
    size_t domain_count;
};

struct vipu_cluster_list {
    struct vipu_cluster_entry *items;
    size_t count;
};

struct vipu_fit {
    uint32_t size;
    uint32_t count;
};

struct vipu_capacity {
    uint32_t total_ipus;
    uint32_t free_ipus;
    struct vipu_fit *fits; /* ascending by size */
    size_t fit_count;
};

void vipu_allocation_list_release(struct vipu_allocation_list *list);
DEFINE_AUTO(vipu_allocation_list);
void vipu_cluster_list_release(struct vipu_cluster_list *list);
DEFINE_AUTO(vipu_cluster_list);
void vipu_capacity_release(struct vipu_capacity *capacity);
DEFINE_AUTO(vipu_capacity);
