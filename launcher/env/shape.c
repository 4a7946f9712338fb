#include "launcher/env/shape.h"

#include <string.h>

#include "base/core/str.h"

#define SHAPE_MAX 65536
#define PORT_MAX 65535

static bool read_number(const struct envv *env, const char *name, uint32_t min, uint32_t max,
                        uint32_t *number, struct err *err)
{
    const char *text = envv_get(env, name);

    if (!text || parse_u32(text, min, max, number))
        return true;
    return err_set(err, ERR_INVALID,
                   "%s must be a number from %u to %u, got \"%.40s\"; it is set by the operator, remove it "
                   "from the container's env",
                   name, min, max, text);
}

static const char *read_text(const struct envv *env, const char *name)
{
    const char *text = envv_get(env, name);

    return text && *text ? text : NULL;
}

static bool read_all(const struct envv *env, struct shape *shape, struct err *err)
{
    shape->target_options = read_text(env, SHAPE_ENV_TARGET_OPTIONS);
    shape->master_addr = read_text(env, SHAPE_ENV_MASTER_ADDR);
    return read_number(env, SHAPE_ENV_IPUS, 1, SHAPE_MAX, &shape->ipus, err) &&
           read_number(env, SHAPE_ENV_WORKERS, 1, SHAPE_MAX, &shape->workers, err) &&
           read_number(env, SHAPE_ENV_WORKER_INDEX, 0, SHAPE_MAX, &shape->worker_index, err) &&
           read_number(env, SHAPE_ENV_REPLICAS, 0, SHAPE_MAX, &shape->replicas, err) &&
           read_number(env, SHAPE_ENV_MASTER_PORT, 1, PORT_MAX, &shape->master_port, err);
}

static uint32_t local_replicas(const struct shape *shape)
{
    return shape->replicas ? shape->replicas : 1;
}

static bool check_share(const struct shape *shape, struct err *err)
{
    uint64_t replicas = (uint64_t)shape->workers * local_replicas(shape);

    if (!shape_is_shared(shape))
        return true;
    if (shape->ipus == 0)
        return err_set(err, ERR_INVALID,
                       "%s is not set, so the shares of %u workers are unknown; use an operator of this "
                       "launcher's version",
                       SHAPE_ENV_IPUS, shape->workers);
    if (shape->ipus % replicas != 0)
        return err_set(err, ERR_INVALID,
                       "%u IPUs cannot be divided among %u workers with %u replicas each; change "
                       "ipusPerJobInstance, workersPerJobInstance or modelReplicasPerWorker",
                       shape->ipus, shape->workers, local_replicas(shape));
    return true;
}

static bool check_options(const struct shape *shape, struct err *err)
{
    const char *text = shape->target_options;

    if (!text || (text[0] == '{' && text[strlen(text) - 1] == '}'))
        return true;
    return err_set(err, ERR_INVALID,
                   "%s must be a JSON object, got \"%.40s\"; it is set by the operator, remove it from the "
                   "container's env",
                   SHAPE_ENV_TARGET_OPTIONS, text);
}

static bool check(const struct shape *shape, struct err *err)
{
    if (shape->worker_index >= shape->workers)
        return err_set(err, ERR_INVALID,
                       "%s is %u, but %s is %u and workers count from 0; both are set by the operator, "
                       "remove them from the container's env",
                       SHAPE_ENV_WORKER_INDEX, shape->worker_index, SHAPE_ENV_WORKERS, shape->workers);
    if (shape->master_addr && shape->master_port == 0)
        return err_set(err, ERR_INVALID,
                       "%s is \"%.80s\", but %s is not set; both are set by the operator, remove them from "
                       "the container's env",
                       SHAPE_ENV_MASTER_ADDR, shape->master_addr, SHAPE_ENV_MASTER_PORT);
    return check_options(shape, err) && check_share(shape, err);
}

bool shape_read(const struct envv *env, struct shape *ret, struct err *err)
{
    struct shape shape = {.workers = 1};

    if (!read_all(env, &shape, err) || !check(&shape, err))
        return false;
    *ret = shape;
    return true;
}

bool shape_is_shared(const struct shape *shape)
{
    return shape->workers > 1 || shape->replicas > 0;
}

struct share shape_replica_share(const struct shape *shape)
{
    uint32_t local = local_replicas(shape);
    uint32_t total = shape->workers * local; /* at most shape->ipus: one divides the other */

    return (struct share){
        .total_replicas = total,
        .local_replicas = local,
        .replica_offset = shape->worker_index * local,
        .ipus_per_replica = shape->ipus / total,
    };
}
