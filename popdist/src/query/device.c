/* The device of this instance.
 *
 * The devices of a reconfigurable partition of n IPUs form a binary tree that is numbered level by level
 * from the leaves: group g of s IPUs is device 2n - 2n/s + g. A fixed partition shows a process only its own
 * compile domain: the single IPUs from 0, followed by one device with all. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "popdist/contract.h"
#include "popdist/popdist.h"
#include "popdist/src/core/fail.h"
#include "popdist/src/query/settings.h"

#define PARTITION_MAX (1U << 20) /* IPUs */

struct share {
    uint32_t ipus;      /* of this instance */
    uint32_t instances; /* on this host */
    uint32_t index;     /* of this instance on this host */
};

static bool is_power_of_two(uint32_t number)
{
    return number && !(number & (number - 1));
}

static uint32_t first_device(uint32_t partition, uint32_t size)
{
    return 2 * partition - 2 * partition / size;
}

static enum popdist_status read_ipus(uint32_t ipus_per_replica, uint32_t *ret, struct popdist_error *error)
{
    uint32_t replicas;
    enum popdist_status status = setting_read(SETTING_LOCAL_REPLICAS, &replicas, error);

    if (!status && !ipus_per_replica)
        status = setting_read(SETTING_IPUS_PER_REPLICA, &ipus_per_replica, error);
    if (status)
        return status;
    if ((uint64_t)replicas * ipus_per_replica > PARTITION_MAX)
        return fail(error, POPDIST_INVALID,
                    "%" PRIu32 " replicas of %" PRIu32 " IPUs are more than any device has", replicas,
                    ipus_per_replica);
    *ret = replicas * ipus_per_replica;
    return POPDIST_OK;
}

static enum popdist_status read_share(struct share *share, struct popdist_error *error)
{
    enum popdist_status status = setting_read(SETTING_LOCAL_SIZE, &share->instances, error);

    if (!status && !share->instances)
        status = popdist_num_instances(&share->instances, error);
    if (!status)
        status = setting_read(SETTING_LOCAL_INDEX, &share->index, error);
    return status;
}

/* The partition that has a device of this number and size. There is at most one, because the ranges of 2n
 * and of n do not overlap for devices of two IPUs or more. */
static uint32_t find_partition(uint32_t device, uint32_t size)
{
    for (uint32_t partition = size; partition <= PARTITION_MAX; partition *= 2) {
        uint32_t first = first_device(partition, size);

        if (device >= first && device < first + partition / size)
            return partition;
    }
    return 0;
}

static enum popdist_status child_of(uint32_t parent, const struct share *share, uint32_t *ret,
                                    struct popdist_error *error)
{
    uint64_t size = (uint64_t)share->ipus * share->instances;
    uint32_t partition = size <= PARTITION_MAX ? find_partition(parent, (uint32_t)size) : 0;

    if (size == 1) {
        *ret = parent;
        return POPDIST_OK;
    }
    if (!is_power_of_two(share->ipus) || !is_power_of_two(share->instances) || !partition ||
        share->index >= share->instances)
        return fail(error, POPDIST_INVALID,
                    "device %" PRIu32 " (%s) has no child %" PRIu32 " of %" PRIu32 " with %" PRIu32
                    " IPUs each; IPUs and instances of a host must be powers of two",
                    parent, POPDIST_ENV_NODE_DEVICE_ID, share->index, share->instances, share->ipus);
    *ret = first_device(partition, share->ipus) +
           (parent - first_device(partition, (uint32_t)size)) * share->instances + share->index;
    return POPDIST_OK;
}

/* "instanceSize":"16" in the target options: the IPUs that this process may use. 0 if absent. */
static uint32_t instance_size(void)
{
    static const char name[] = "\"instanceSize\"";
    const char *at = setting_text(POPLAR_ENV_TARGET_OPTIONS);
    unsigned long number;

    at = at ? strstr(at, name) : NULL;
    if (!at)
        return 0;
    at += sizeof name - 1;
    at += strspn(at, " \t\n:\"");
    number = strtoul(at, NULL, 10);
    return number <= PARTITION_MAX ? (uint32_t)number : 0;
}

static enum popdist_status device_alone(uint32_t ipus, uint32_t *ret, struct popdist_error *error)
{
    uint32_t partition = instance_size();

    if (ipus == 1) {
        *ret = 0;
        return POPDIST_OK;
    }
    if (!is_power_of_two(ipus) || !is_power_of_two(partition) || ipus > partition)
        return fail(error, POPDIST_INVALID,
                    "which device has %" PRIu32
                    " IPUs depends on the partition, and its size is unknown; start "
                    "the program with poprun, or give instanceSize in %s",
                    ipus, POPLAR_ENV_TARGET_OPTIONS);
    *ret = first_device(partition, ipus);
    return POPDIST_OK;
}

enum popdist_status popdist_device_id(uint32_t ipus_per_replica, uint32_t *ret, struct popdist_error *error)
{
    struct share share = {0};
    uint32_t parent = 0;
    enum popdist_status status = read_ipus(ipus_per_replica, &share.ipus, error);

    if (status)
        return status;
    if (setting_is_set(SETTING_NODE_DEVICE)) {
        status = setting_read(SETTING_NODE_DEVICE, &parent, error);
        if (!status)
            status = read_share(&share, error);
        return status ? status : child_of(parent, &share, ret, error);
    }
    if (!popdist_is_env_set())
        return device_alone(share.ipus, ret, error);
    *ret = share.ipus > 1 ? share.ipus : 0;
    return POPDIST_OK;
}
