/* The partition of a run as far as a plan needs it, and the parent device in it that instances divide. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "launcher/poprun/options/options.h"
#include "vipu/model/partition.h"

struct partition_view {
    const char *api_host; /* of its controller */
    uint32_t api_port;
    uint32_t api_timeout_s;
    const struct vipu_partition *partition;
};

/* In a reconfigurable partition: the device with the IPUs that all instances of a host use; host h has the
 * device `first_id + h`. Each has a child for each instance there. */
struct parent {
    uint32_t first_id;
    uint32_t size;     /* IPUs */
    uint32_t count;    /* devices of that size in the partition */
    uint32_t children; /* of one host */
    uint32_t child_size;
    uint32_t domain_size; /* IPUs of an IPU-Link domain */
};

/* IPU-Link domains that the options ask for; 0: any number. An instance's IPUs lie in one domain, so that a
 * run spans no more domains than it has instances. */
uint32_t partition_ilds(const struct poprun_options *options);
/* ERR_CONFLICT says what does not fit, and what would. V-IPU's own replica count does not matter. `in_job`:
 * in a pod of an IPUJob, whose spec has to change then. */
MUST_USE bool partition_check(const struct vipu_partition *partition, const struct poprun_options *options,
                              uint32_t hosts, bool in_job, struct err *err);
/* For a reconfigurable partition that partition_check has accepted. */
struct parent partition_parent(const struct vipu_partition *partition, const struct poprun_options *options,
                               uint32_t hosts);
/* The partition's and the parent device's target options, as JSON. The caller frees it. */
char *partition_target_options(const struct vipu_partition *partition, uint32_t num_instances);
char *parent_target_options(const struct parent *parent);
