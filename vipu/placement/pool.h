/* The free capacity of a controller, computed from its list of partitions and its number of IPUs. Pure; it
 * answers "how many more of this size fit now", "could it ever fit" and "which partitions block it" without
 * a request.
 *
 * Placement is that of blocks.h: a partition of up to 64 IPUs takes one block aligned to its size in one
 * domain; a larger one takes whole consecutive domains. If a controller's IPU ids are missing, repeated or
 * out of range, its IPUs are only counted (`placed` false), and answers are upper bounds. The view keeps no
 * pointer to its inputs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/mem.h"
#include "vipu/placement/blocks.h"
#include "vipu/model/partition.h"

#define VIPU_POOL_MAX_DOMAINS 1024u /* larger controllers are only counted */

struct vipu_pool_shape {
    uint32_t total_ipus;      /* from vipu_agents, or as the admin configured */
    uint32_t ipus_per_domain; /* 0: the smaller of 64 and the total */
};

struct vipu_pool_view {
    uint32_t total_ipus;
    uint32_t used_ipus;
    uint32_t free_ipus;
    uint32_t ipus_per_domain;
    uint32_t capacity;      /* the largest size that would fit if nothing were taken, nor cordoned */
    uint32_t cordoned_ipus; /* free or not; no more partitions fit there */
    bool is_cordoned;       /* all of them, however many */
    bool placed;
    struct vipu_blocks blocks; /* of all clusters in one row, if placed */
    bool *cordoned;            /* of the domains in this row; NULL: none */
    struct vipu_pool_cluster *clusters;
    size_t cluster_count;
};

struct vipu_pool_view vipu_pool_view_of(const struct vipu_partitions *list, struct vipu_pool_shape shape);
struct vipu_pool_view vipu_pool_view_copy(const struct vipu_pool_view *from); /* deep copy */
void vipu_pool_view_release(struct vipu_pool_view *view);
DEFINE_AUTO(vipu_pool_view);

/* A domain of a view that is placed; borrows from it. */
struct vipu_pool_domain {
    const char *cluster; /* "": no partition has named it yet */
    uint32_t index;      /* in its cluster */
    uint32_t size;       /* number of IPUs */
    uint64_t free;
    bool is_cordoned;
    size_t row; /* its number in the row of all clusters */
};
/* The next domain in order; *at is 0 at first. False: there are no more, or IPUs are only counted. */
bool vipu_pool_next_domain(const struct vipu_pool_view *view, size_t *at, struct vipu_pool_domain *ret);
/* Keeps further partitions off the domain, or off the whole controller. Before the first vipu_pool_reserve.
 */
void vipu_pool_cordon_domain(struct vipu_pool_view *view, const struct vipu_pool_domain *domain);
void vipu_pool_cordon(struct vipu_pool_view *view);

/* The same IPUs in each of consecutive domains of the row. */
struct vipu_pool_part {
    uint32_t domain, domain_count;
    uint64_t ipus;
};
/* A partition of the list that the view was made of as parts, of which there are no more than IPUs. Returns
 * how many; 0 if IPUs are only counted. */
size_t vipu_pool_parts(const struct vipu_pool_view *view, const struct vipu_partition *partition,
                       struct vipu_pool_part *parts);
/* Removes the part's IPUs from the free ones. False, without a change, if one of them is not free. */
bool vipu_pool_take(struct vipu_pool_view *view, const struct vipu_pool_part *part);

/* "CLUSTER/DOMAIN/IPU" of its first IPU: names the part in every later view. Owned by the caller. */
char *vipu_pool_part_name(const struct vipu_pool_view *view, const struct vipu_pool_part *part);
/* The part of `size` IPUs with that name. False if there is none, in this view. */
bool vipu_pool_part_of(const struct vipu_pool_view *view, const char *name, uint32_t size,
                       struct vipu_pool_part *ret);
/* Fills in its IPUs as an explicit placement, in order. The name of their cluster; "": no partition has named
 * it yet. */
const char *vipu_pool_part_ipus(const struct vipu_pool_view *view, const struct vipu_pool_part *part,
                                struct vipu_ipu *ipus);

/* How many more partitions of `size` fit now, if nothing else changes. 0 for an invalid size. */
uint32_t vipu_pool_fit_count(const struct vipu_pool_view *view, uint32_t size);
/* Whether one would fit if the controller were empty. */
bool vipu_pool_could_fit(const struct vipu_pool_view *view, uint32_t size);
/* Places one where vipu-server would, to look ahead over several requests. False, without a change, if it
 * does not fit. */
bool vipu_pool_reserve(struct vipu_pool_view *view, uint32_t size);
/* Where vipu_pool_reserve would place one: `ipus` has room for `size` of them. The name of their cluster;
 * NULL: it does not fit, or IPUs are only counted. */
const char *vipu_pool_find(const struct vipu_pool_view *view, uint32_t size, struct vipu_ipu *ipus);
/* The largest size that fits now; 0 if none does. */
uint32_t vipu_pool_largest_free(const struct vipu_pool_view *view);
/* The largest size that would fit if the controller were empty: a larger request exceeds its capacity. */
uint32_t vipu_pool_capacity(const struct vipu_pool_view *view);

/* Fills `blocker` (list->count entries) with the indices of the partitions whose removal would free enough
 * IPUs for `size` at the least cost in IPUs, in list order, and returns how many; 0 if it fits already,
 * could never fit, or IPUs are only counted. `list` must be the one that the view was made of. */
size_t vipu_pool_blockers(const struct vipu_pool_view *view, const struct vipu_partitions *list,
                          uint32_t size, size_t *blocker);
