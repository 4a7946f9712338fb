/* The hardware section of the configuration: clusters, the agents in their IPU-Link domains, and
 * allocations. An agent belongs to one cluster and has its own IPUoF address. Pure. */
#pragma once

#include "vipu/model/cluster.h"
#include "vipu/server/config/settings.h"

#define CONFIG_MAX_DOMAINS 1024u /* of all clusters together: 65,536 IPUs */

extern const struct setting config_cluster_settings[];
extern const struct setting config_allocation_settings[];

/* The list `clusters` of the document. After mistakes *ret may be partly filled: release it. */
void config_read_clusters(struct settings_reader *settings, struct vipu_clusters *ret);
