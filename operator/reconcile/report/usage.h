/* IPUs in use and available IPUs, for the read-only pages /stats and /query of the vendor's proxy. As there,
 * partitions that are not the operator's count for no namespace. */
#pragma once

#include <stdint.h>

#include "operator/api/page.h"

struct reconciler;

/* {"<namespace>": {"used": n, "available": n}, ..., "total": {...}}; available is the same everywhere,
 * because namespaces have no quota of IPUs. Caller frees. */
cJSON *usage_stats(const struct reconciler *reconciler);
void usage_list_controllers(const void *reconciler, struct page_snapshot *ret);
/* {"controllers": [{"name": "host:port", "up": true, "ipus": n, "freeIpus": n, "largestPartition": n},
 * {"name": "host:port", "up": false, "error": "a sentence", "downSeconds": n}]}: the list /controllers. Each
 * has "secureMode" as soon as it is known whether the controller rejects clients without an access key. */
void usage_print_controllers(struct reconciler *reconciler, const struct page_snapshot *snapshot,
                             const struct page_request *request, cJSON *out);
/* How many more partitions of this size could be created now: {"available": true when a V-IPU controller
 * answers, "numOfPartitions": n, "message": "" or the error, "largestPartition": n IPUs}. Caller frees. */
cJSON *usage_query(const struct reconciler *reconciler, uint32_t size);
