#include "popdist/src/query/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "popdist/contract.h"
#include "popdist/src/core/fail.h"

#define REPLICAS_MAX (1U << 20)

static const struct {
    const char *name;
    uint32_t min, max, otherwise;
} settings[SETTING_COUNT] = {
    [SETTING_TOTAL_REPLICAS] = {POPDIST_ENV_NUM_TOTAL_REPLICAS, 1, REPLICAS_MAX, 1},
    [SETTING_LOCAL_REPLICAS] = {POPDIST_ENV_NUM_LOCAL_REPLICAS, 1, REPLICAS_MAX, 1},
    [SETTING_IPUS_PER_REPLICA] = {POPDIST_ENV_NUM_IPUS_PER_REPLICA, 1, REPLICAS_MAX, 1},
    [SETTING_UNIFORM] = {POPDIST_ENV_UNIFORM_REPLICAS_PER_INSTANCE, 0, 1, 1},
    [SETTING_NODE_DEVICE] = {POPDIST_ENV_NODE_DEVICE_ID, 0, 2 * REPLICAS_MAX, 0},
    [SETTING_REPLICA_OFFSET] = {POPDIST_ENV_REPLICA_INDEX_OFFSET, 0, REPLICAS_MAX, 0},
    [SETTING_LOCAL_INDEX] = {POPDIST_ENV_LOCAL_INSTANCE_INDEX, 0, REPLICAS_MAX, 0},
    [SETTING_TIMEOUT_S] = {SETTING_ENV_TIMEOUT, 1, 1U << 30, 30},
    [SETTING_RUN_SIZE] = {"OMPI_COMM_WORLD_SIZE", 1, REPLICAS_MAX, 0},
    [SETTING_LOCAL_SIZE] = {"OMPI_COMM_WORLD_LOCAL_SIZE", 1, REPLICAS_MAX, 0},
};

const char *setting_text(const char *name)
{
    const char *text = getenv(name);

    return text && *text ? text : NULL;
}

bool setting_is_set(enum setting setting)
{
    return setting_text(settings[setting].name) != NULL;
}

/* Digits only: strtoul would also accept spaces and signs. */
static bool parse(const char *text, uint32_t min, uint32_t max, uint32_t *ret)
{
    unsigned long number;
    char *end;

    if (strspn(text, "0123456789") != strlen(text))
        return false;
    errno = 0;
    number = strtoul(text, &end, 10);
    if (errno || *end || number < min || number > max)
        return false;
    *ret = (uint32_t)number;
    return true;
}

enum popdist_status setting_read(enum setting setting, uint32_t *ret, struct popdist_error *error)
{
    const char *name = settings[setting].name;
    uint32_t min = settings[setting].min, max = settings[setting].max;
    const char *text = setting_text(name);

    if (!text)
        *ret = settings[setting].otherwise;
    else if (!parse(text, min, max, ret))
        return fail(error, POPDIST_INVALID,
                    "%s must be a number from %" PRIu32 " to %" PRIu32
                    ", got \"%.40s\"; it is set by the launcher, remove it from the program's environment",
                    name, min, max, text);
    return POPDIST_OK;
}
