/* What vipu prints: partitions, attributes and IPUoF configurations as tables or as JSON. Pure; appends to
 * `out`. */
#pragma once

#include <stdbool.h>

#include "base/core/str.h"
#include "base/doc/json.h"
#include "vipu/model/agents.h"
#include "vipu/model/ipuof.h"
#include "vipu/model/partition.h"

/* The columns of the list in the various versions of V-IPU: scripts cut ids out of the table by column
 * number. */
enum show_layout { SHOW_BY_ALLOCATION, SHOW_BY_CLUSTER, SHOW_BY_PARTITION };

void show_partitions(const struct vipu_partitions *list, enum show_layout layout, struct str *out);
void show_partitions_json(const struct vipu_partitions *list, struct str *out);
void show_partition(const struct vipu_partition *partition, const struct vipu_status *status, bool json,
                    struct str *out);
void show_agents(const struct vipu_agents *agents, bool json, struct str *out);
void show_document_take(cJSON *document, struct str *out);
/* The IPUoF file of one GCD. */
void show_ipuof_gcd(const struct vipu_ipuof_gcd *gcd, struct str *out);
/* An array of these. */
void show_ipuof_json(const struct vipu_ipuof_config *config, struct str *out);
/* {"errors": ["a sentence", ...]} */
void show_errors_json(const struct strv *errors, struct str *out);
