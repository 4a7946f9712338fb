/* The data of the simulated machines: attributes of every IPU, and the devices of a partition for the IPUoF
 * client. Pure: the same cluster and placement always give the same serial numbers. */
#pragma once

#include "base/core/err.h"
#include "vipu/model/agents.h"
#include "vipu/model/cluster.h"
#include "vipu/model/ipuof.h"

/* The number on its board (IPU# of gc-info) of the IPU with this topology id. */
uint32_t hardware_board_index(uint32_t topology_id);
/* The topology id within its machine of the IPU with this hardware id. */
uint32_t hardware_topology_id(uint32_t hardware_id);
void hardware_set_error(struct vipu_agent_ipu *ipu, const char *text); /* its "ipu error state" */
/* One machine of a domain with the attributes of its IPUs. The result is one agent, owned. */
struct vipu_agent hardware_agent(const struct vipu_cluster_domain *domain, uint32_t machine);

/* gcd -1: all of them. ERR_INVALID if the partition has no such GCD. */
MUST_USE bool hardware_ipuof(const struct vipu_cluster *cluster, const struct vipu_partition *partition,
                             int64_t gcd, struct vipu_ipuof_config *ret, struct err *err);
