#include "launcher/env/jobenv.h"

#include <inttypes.h>
#include <string.h>

#include "base/core/mem.h"
#include "launcher/env/shape.h"
#include "popdist/contract.h"

static void default_number(struct envv *env, const char *name, uint32_t number)
{
    AUTO(mem) char *text = mem_printf("%" PRIu32, number);

    envv_default(env, name, text);
}

static void add_popdist(struct envv *env, const struct shape *shape)
{
    struct share share = shape_replica_share(shape);

    default_number(env, POPDIST_ENV_NUM_TOTAL_REPLICAS, share.total_replicas);
    default_number(env, POPDIST_ENV_NUM_IPUS_PER_REPLICA, share.ipus_per_replica);
    default_number(env, POPDIST_ENV_NUM_LOCAL_REPLICAS, share.local_replicas);
    default_number(env, POPDIST_ENV_UNIFORM_REPLICAS_PER_INSTANCE, 1);
    default_number(env, POPDIST_ENV_REPLICA_INDEX_OFFSET, share.replica_offset);
    /* A pod counts as a host of its own, even if two share a machine: programs use the local index to let
     * one process per host fetch data, and pods do not see each other's files. */
    default_number(env, POPDIST_ENV_LOCAL_INSTANCE_INDEX, 0);
}

/* The variables that torch.distributed and gloo read. */
static void add_ranks(struct envv *env, const struct shape *shape)
{
    default_number(env, "RANK", shape->worker_index);
    default_number(env, "WORLD_SIZE", shape->workers);
    default_number(env, "LOCAL_RANK", 0);
    envv_default(env, "MASTER_ADDR", shape->master_addr);
    default_number(env, "MASTER_PORT", shape->master_port);
}

static void add_targets(struct envv *env, const struct shape *shape)
{
    if (shape->workers > 1 && shape->target_options)
        envv_default(env, POPLAR_ENV_TARGET_OPTIONS, shape->target_options);
}

static void add_shape(struct envv *env, const struct shape *shape)
{
    if (shape_is_shared(shape))
        add_popdist(env, shape);
    add_targets(env, shape);
    if (shape->workers > 1 && shape->master_addr)
        add_ranks(env, shape);
}

static bool path_has(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    for (const char *at = path;; at++) {
        size_t element = strcspn(at, ":");

        if (element == len && strncmp(at, dir, len) == 0)
            return true;
        at += element;
        if (!*at)
            return false;
    }
}

static void lengthen_path(struct envv *env, const char *dir)
{
    const char *path = envv_get(env, "PATH");

    /* PATH has no escape for a colon. */
    if (!dir || strchr(dir, ':'))
        return;
    if (!path)
        path = JOBENV_PATH;
    if (!path_has(path, dir)) {
        AUTO(mem) char *longer = mem_printf("%s:%s", path, dir);

        envv_set(env, "PATH", longer);
    }
}

static bool unwrap(struct envv *env, struct err *err)
{
    if (envv_count(env, JOBENV_DEFAULT_PREFIX) > JOBENV_DEFAULTS_MAX)
        return err_set(err, ERR_INVALID, "more than %d variables start with %s; remove your own",
                       JOBENV_DEFAULTS_MAX, JOBENV_DEFAULT_PREFIX);
    envv_unwrap(env, JOBENV_DEFAULT_PREFIX);
    return true;
}

bool jobenv_complete(struct envv *env, const char *dir, struct err *err)
{
    struct shape shape;

    if (!unwrap(env, err) || !shape_read(env, &shape, err))
        return false;
    add_shape(env, &shape);
    lengthen_path(env, dir);
    return true;
}

bool jobenv_complete_remote(struct envv *env, const char *dir, struct err *err)
{
    struct shape shape;

    if (!unwrap(env, err) || !shape_read(env, &shape, err))
        return false;
    add_targets(env, &shape);
    lengthen_path(env, dir);
    return true;
}

bool jobenv_complete_launcher(struct envv *env, const char *dir, struct err *err)
{
    if (!unwrap(env, err))
        return false;
    lengthen_path(env, dir);
    return true;
}
