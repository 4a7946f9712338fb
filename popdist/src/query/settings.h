/* The numbers in PopDist's environment variables. Reading is strict: decimal digits in the variable's range,
 * because a program that trains with the wrong share is worse than one that does not start. An empty
 * variable counts as absent. */
#ifndef POPDIST_SETTINGS_H
#define POPDIST_SETTINGS_H

#include "popdist/popdist.h"

enum setting {
    SETTING_TOTAL_REPLICAS,
    SETTING_LOCAL_REPLICAS,
    SETTING_IPUS_PER_REPLICA,
    SETTING_UNIFORM,
    SETTING_NODE_DEVICE,
    SETTING_REPLICA_OFFSET,
    SETTING_LOCAL_INDEX,
    SETTING_TIMEOUT_S,
    SETTING_RUN_SIZE,   /* processes of the MPI run; 0 without mpirun */
    SETTING_LOCAL_SIZE, /* those of them on this host; 0 likewise */
    SETTING_COUNT
};

#define SETTING_ENV_TIMEOUT "POPDIST_COLLECTIVE_TIMEOUT"

bool setting_is_set(enum setting setting);
/* The variable, or its default if it is absent. */
enum popdist_status setting_read(enum setting setting, uint32_t *ret, struct popdist_error *error);
/* A string variable, or NULL if it is absent or empty. */
const char *setting_text(const char *name);

#endif
