/* What vipu prints of allocations, clusters and their capacity, as tables or as JSON. Pure; appends to
 * `out`. */
#pragma once

#include <stdbool.h>

#include "base/core/str.h"
#include "vipu/model/inventory.h"

void show_allocations(const struct vipu_allocation_list *list, bool json, struct str *out);
void show_clusters(const struct vipu_cluster_list *list, bool json, struct str *out);
/* One of them with its capacity. */
void show_allocation(const struct vipu_allocation_entry *allocation, const struct vipu_capacity *capacity,
                     bool json, struct str *out);
void show_cluster(const struct vipu_cluster_entry *cluster, const struct vipu_capacity *capacity, bool json,
                  struct str *out);
