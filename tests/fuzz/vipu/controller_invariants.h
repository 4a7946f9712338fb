/* What holds for every controller, whatever it has been asked or read. */
#pragma once

#include "vipu/server/controller/controller.h"

#define CONTROLLER_CONFIG "clusters: [{id: a, ipulink-domains: 2}]"

/* No IPU is in two partitions, and none is leaked. Of a cluster as above. */
void controller_check(const struct controller *controller);
