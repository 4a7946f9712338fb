/* The rules for the shape of a partition, independent of its placement: powers of two, GCDs, replicas,
 * IPU-Link domains, sync types; and what follows from a shape: defaults, target options, device numbers.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/str.h"
#include "vipu/model/partition.h"

#define VIPU_ID_MAX 253u /* longest partition id accepted, in bytes */

bool vipu_is_power_of_two(uint32_t n); /* false for 0 */

/* The fewest IPU-Link domains that have so many IPUs. A controller uses one unless it is asked for more. */
uint32_t vipu_fewest_ilds(uint32_t size);

/* Fills in the documented defaults of the user API (one domain, one GCD, one replica per GCD, sync type). The
 * controller chooses the routing: vipu_routing_default. */
struct vipu_requirements vipu_requirements_with_defaults(const struct vipu_requirements *given);

/* Adds one sentence per rule that `requirements` (with defaults filled in) breaks; true if there is none. */
bool vipu_requirements_check(const struct vipu_requirements *requirements, struct strv *problems);

/* The routing a controller chooses for `ipus_per_domain` IPUs in each domain. */
enum vipu_routing vipu_routing_default(uint32_t ipus_per_domain, bool torus);

/* POPLAR_TARGET_OPTIONS for a partition: the JSON object that PopRun logs, with the keys in its order. The
 * caller frees it. */
char *vipu_target_options(uint32_t size, uint32_t num_ilds, uint32_t num_gcds, enum vipu_routing routing);

/* Number of the device that holds IPUs [group * size, (group + 1) * size) of a reconfigurable GCD of gcd_size
 * IPUs; both sizes are powers of two, size <= gcd_size. */
uint32_t vipu_device_id(uint32_t gcd_size, uint32_t size, uint32_t group);
