/* The position of this process among the instances: everything here follows from the environment. */
#include <inttypes.h>

#include "popdist/contract.h"
#include "popdist/popdist.h"
#include "popdist/src/core/fail.h"
#include "popdist/src/query/settings.h"

bool popdist_is_env_set(void)
{
    return setting_is_set(SETTING_TOTAL_REPLICAS);
}

enum popdist_status popdist_num_total_replicas(uint32_t *ret, struct popdist_error *error)
{
    return setting_read(SETTING_TOTAL_REPLICAS, ret, error);
}

enum popdist_status popdist_num_local_replicas(uint32_t *ret, struct popdist_error *error)
{
    return setting_read(SETTING_LOCAL_REPLICAS, ret, error);
}

enum popdist_status popdist_num_ipus_per_replica(uint32_t *ret, struct popdist_error *error)
{
    return setting_read(SETTING_IPUS_PER_REPLICA, ret, error);
}

enum popdist_status popdist_replica_index_offset(uint32_t *ret, struct popdist_error *error)
{
    return setting_read(SETTING_REPLICA_OFFSET, ret, error);
}

enum popdist_status popdist_local_instance_index(uint32_t *ret, struct popdist_error *error)
{
    return setting_read(SETTING_LOCAL_INDEX, ret, error);
}

const char *popdist_executable_cache_path(void)
{
    return setting_text(POPDIST_ENV_EXECUTABLE_CACHE_PATH);
}

static enum popdist_status check_uniform(struct popdist_error *error)
{
    uint32_t uniform;
    enum popdist_status status = setting_read(SETTING_UNIFORM, &uniform, error);

    if (!status && !uniform)
        return fail(error, POPDIST_INVALID,
                    "the instances have different numbers of replicas (%s is 0), so neither their count nor "
                    "this one's index is defined; use replica numbers instead",
                    POPDIST_ENV_UNIFORM_REPLICAS_PER_INSTANCE);
    return status;
}

enum popdist_status popdist_num_instances(uint32_t *ret, struct popdist_error *error)
{
    uint32_t total = 1, local = 1;
    enum popdist_status status = check_uniform(error);

    if (!status)
        status = setting_read(SETTING_TOTAL_REPLICAS, &total, error);
    if (!status)
        status = setting_read(SETTING_LOCAL_REPLICAS, &local, error);
    if (status)
        return status;
    if (total % local)
        return fail(error, POPDIST_INVALID,
                    "%s (%" PRIu32 ") is not a multiple of %s (%" PRIu32 ")"
                    "; start the program with poprun",
                    POPDIST_ENV_NUM_TOTAL_REPLICAS, total, POPDIST_ENV_NUM_LOCAL_REPLICAS, local);
    *ret = total / local;
    return POPDIST_OK;
}

enum popdist_status popdist_instance_index(uint32_t *ret, struct popdist_error *error)
{
    uint32_t instances = 0, local = 1, offset = 0;
    enum popdist_status status = popdist_num_instances(&instances, error);

    if (!status)
        status = setting_read(SETTING_LOCAL_REPLICAS, &local, error);
    if (!status)
        status = setting_read(SETTING_REPLICA_OFFSET, &offset, error);
    if (status)
        return status;
    if (offset % local || offset / local >= instances)
        return fail(error, POPDIST_INVALID,
                    "%s is %" PRIu32 ", which is not the first replica of one of %" PRIu32
                    " instances with %" PRIu32 " replicas each; start the program with poprun",
                    POPDIST_ENV_REPLICA_INDEX_OFFSET, offset, instances, local);
    *ret = offset / local;
    return POPDIST_OK;
}

enum popdist_status popdist_check_num_ipus_per_replica(uint32_t ipus, bool *ret, struct popdist_error *error)
{
    uint32_t number;
    enum popdist_status status = setting_read(SETTING_IPUS_PER_REPLICA, &number, error);

    if (!status)
        *ret = number == ipus || !setting_is_set(SETTING_IPUS_PER_REPLICA);
    return status;
}
