/* Which IPUs have failed, and the messages about it. Pure: failures come from fault injection, since
 * simulated hardware does not fail on its own. Failed IPUs are marked in the allocator, which outlives it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/str.h"
#include "vipu/placement/allocator.h"
#include "vipu/model/partition.h"
#include "vipu/server/controller/faults.h"

struct health {
    struct vipu_allocator *allocator;
    const struct faults *faults; /* NULL: nothing has failed */
    int64_t now_ms;              /* of the last check */
    int64_t next_ms;             /* when the next check is due; -1: never */
    bool is_any;                 /* something has failed */
    bool is_new;                 /* checked since the controller last checked its active partitions */
};

void health_init(struct health *health, struct vipu_allocator *allocator);
/* Applies the current faults; they must live until the next call. */
void health_look(struct health *health, const struct faults *faults, int64_t now_ms);
/* Checks again if something may have changed by itself. */
void health_step(struct health *health, int64_t now_ms);
/* Why this IPU did not work at the last check, NULL if it did; the caller frees it. */
char *health_of_ipu(const struct health *health, const struct vipu_machine *machine, uint32_t topology_id);
bool health_fails(const struct health *health, const struct vipu_cluster *cluster,
                  const struct vipu_partition *partition);
/* One sentence per failed agent or IPU of the partition; a long list is truncated. */
void health_explain(const struct health *health, const struct vipu_cluster *cluster,
                    const struct vipu_partition *partition, struct strv *out);
