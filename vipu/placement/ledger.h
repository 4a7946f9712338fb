/* Which IPUs of one cluster are taken and which have failed, and for each of its allocations an index of the
 * free ones. Keeps the three consistent; decides nothing. The cluster must outlive it and stay unchanged. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "vipu/placement/blocks.h"
#include "vipu/model/cluster.h"

/* The part of the cluster that an allocation has. */
struct vipu_allocation_state {
    struct vipu_blocks blocks; /* its free IPUs; its domain 0 is domain `first` of the cluster */
    struct vipu_blocks whole;  /* all of its IPUs, taken, failed or free */
    size_t first;
    uint32_t total; /* IPUs */
};

struct vipu_ledger {
    const struct vipu_cluster *cluster;
    uint64_t *taken, *failed;                  /* per domain; read-only */
    struct vipu_allocation_state *allocations; /* per allocation; read-only */
};

void vipu_ledger_init(struct vipu_ledger *ledger, const struct vipu_cluster *cluster);
void vipu_ledger_release(struct vipu_ledger *ledger);

/* Failed ones too. False if an IPU does not exist or is taken already; then nothing is taken. */
MUST_USE bool vipu_ledger_reserve(struct vipu_ledger *ledger, const struct vipu_ipu *ipus, size_t count);
void vipu_ledger_unreserve(struct vipu_ledger *ledger, const struct vipu_ipu *ipus, size_t count);
void vipu_ledger_set_failed(struct vipu_ledger *ledger, size_t domain, uint64_t ipus);
