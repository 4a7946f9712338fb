/* How long jobs take for what, for metrics: a pure function of the times that two looks at the same object
 * show. Times come from several machines' clocks in whole seconds; what would be below zero is zero.
 *
 *   queued       in line for IPUs, until there was a record of the partition; each instance
 *   allocating   from then until its first worker was made, on a partition that is active
 *   scheduling   from a pod's making until a node was found for it
 *   pulling      until its first container started: images, volumes, what prepares it
 *   starting     until it was ready; skipped by pods that end before anybody sees them ready
 *   running      until its last container ended */
#pragma once

#include "operator/api/observed/pod.h"
#include "operator/api/partition/record.h"

enum phase {
    PHASE_QUEUED,
    PHASE_ALLOCATING,
    PHASE_SCHEDULING,
    PHASE_PULLING,
    PHASE_STARTING,
    PHASE_RUNNING,
    PHASES,
};

#define PHASE_NOT_ENDED (-1)
#define PHASES_SIZES 8 /* of partitions: 1, 2, 4 ... 64 IPUs, and more */

/* Seconds of each phase that ended between two versions of the object, PHASE_NOT_ENDED for the others. */
struct phase_ends {
    int64_t seconds[PHASES];
};

const char *phase_name(enum phase phase);
uint32_t phases_size(uint32_t ipus); /* below PHASES_SIZES */
/* old NULL: it is new. record: of the partition that the pod is on, or NULL. */
void phases_of_pod(const struct pod *old, const struct pod *new, const struct record *record,
                   struct phase_ends *ret);
/* A new record of an instance that has waited since then; 0: unknown. */
void phases_of_record(const struct record *record, int64_t waits_since_s, struct phase_ends *ret);
