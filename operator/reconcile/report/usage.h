/* IPUs in use and IPUs that could be had, for the read-only pages /stats and /query of the vendor's proxy. As
 * there, partitions that are not the operator's do not count as used by anybody. */
#pragma once

#include <stdint.h>

#include "base/doc/json.h"

struct reconciler;

/* {"<namespace>": {"used": n, "available": n}, ..., "total": {...}}; available is the same everywhere,
 * because namespaces have no quota of IPUs. Yours. */
cJSON *usage_stats(const struct reconciler *reconciler);
/* {"controllers": [{"name": "host:port", "up": true, "ipus": n, "freeIpus": n, "largestPartition": n},
 * {"name": "host:port", "up": false, "trouble": "a sentence", "downSeconds": n}]}. Yours. */
cJSON *usage_controllers(const struct reconciler *reconciler);
/* How many more partitions of this size would fit now: {"available": true when some V-IPU controller answers,
 * "numOfPartitions": n, "message": "" or what is wrong, "largestPartition": n IPUs}. Yours. */
cJSON *usage_query(const struct reconciler *reconciler, uint32_t size);
