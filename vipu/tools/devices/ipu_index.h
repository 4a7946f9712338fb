/* Finds an IPU of a partition among all IPUs of a controller's agents, by its chip id or, if that is
 * missing, by its machine and its number on the board. Pure; the agents must outlive it. */
#pragma once

#include "base/core/map.h"
#include "base/core/mem.h"
#include "vipu/model/agents.h"
#include "vipu/model/ipuof.h"

struct ipu_index {
    struct map ipus; /* "chip ID" and "board HOST NUMBER" -> struct vipu_agent_ipu * */
};

/* An attribute of an IPU; NULL: missing. */
const char *agent_ipu_attribute(const struct vipu_agent_ipu *ipu, const char *key);

void ipu_index_init(struct ipu_index *index, struct vipu_agents *agents);
const struct vipu_agent_ipu *ipu_index_find(const struct ipu_index *index,
                                            const struct vipu_ipuof_device *device);
void ipu_index_release(struct ipu_index *index);
DEFINE_AUTO(ipu_index);
