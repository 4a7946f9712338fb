/* Which IPUs of the clusters are taken, and where a new partition goes: its own choice by the buddy rule, or
 * the IPUs the request lists. Pure. The clusters outlive it; who holds what is the controller's business. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/model/cluster.h"
#include "vipu/model/partition.h"

struct occupancy {
    const struct vipu_clusters *clusters;
    uint64_t **busy; /* per cluster, per domain */
};

struct occupancy_place {
    const struct vipu_cluster *cluster;
    const struct vipu_allocation *allocation;
    struct vipu_ipu *ipus; /* size entries, owned */
};

void occupancy_init(struct occupancy *o, const struct vipu_clusters *clusters);
void occupancy_release(struct occupancy *o);

/* Adds what is wrong with the cluster, allocation and IPUs that a request names; true when nothing is. */
bool occupancy_check(const struct occupancy *o, const struct vipu_requirements *r, struct strv *problems);
/* For requirements with defaults that passed every check. ERR_BUSY says what is free. Takes nothing. */
MUST_USE bool occupancy_find(const struct occupancy *o, const struct vipu_requirements *r,
                             struct occupancy_place *ret, struct err *err);

/* False when an IPU does not exist or is taken already; then nothing is taken. */
bool occupancy_take(struct occupancy *o, const struct vipu_cluster *cluster, const struct vipu_ipu *ipus,
                    size_t count);
void occupancy_give(struct occupancy *o, const struct vipu_cluster *cluster, const struct vipu_ipu *ipus,
                    size_t count);
