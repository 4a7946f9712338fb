/* Views of partitions over made-up IPU-Machines, for the tests of the device tools. */
#pragma once

#include "base/core/mem.h"
#include "vipu/tools/devices/gcd_view.h"

struct machine_row {
    const char *ip;
    const char *serial; /* "0024" gives 0024.0002.8203321 for IPU 3 and 2 of the board, .0001. for 1 and 0 */
};

struct machines {
    struct gcd_view view;
    struct vipu_agents agents;
};

/* The active GCD 0 of a reconfigurable partition of `ipus` IPUs on these machines, four on each, with
 * attributes as a controller tells them. Released by machines_release. */
struct machines machines_make(const char *partition, const struct machine_row *rows, uint32_t ipus);
/* One more attribute for a single IPU. */
void machines_tell(struct machines *machines, uint32_t ipu, const char *key, const char *value);
void machines_release(struct machines *machines);
DEFINE_AUTO(machines);
