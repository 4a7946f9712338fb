/* Which replica runs where, and the table that shows it. Replicas are assigned to instances and instances to
 * hosts in blocks of equal length, so that numbers follow by division. Pure; hosts are borrowed. */
#pragma once

#include <stdint.h>

#include "base/core/str.h"

struct topology {
    uint32_t num_replicas;
    uint32_t num_instances; /* divides num_replicas */
    uint32_t ipus_per_replica;
    uint32_t ipus_per_ild;    /* 0: all in one IPU-Link domain */
    const char *local_name;   /* shown for this host if it is the only one; NULL: localhost */
    const struct strv *hosts; /* their count divides num_instances; empty: only this host */
};

/* "poprun topology" as PopRun prints it, byte for byte, followed by the host names that did not fit. */
void topology_print(const struct topology *topology, struct str *out);

uint32_t topology_local_replicas(const struct topology *topology); /* of one instance */
uint32_t topology_instances_per_host(const struct topology *topology);
const char *topology_host(const struct topology *topology, uint32_t instance);
