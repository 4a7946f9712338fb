/* The public collective operations: arguments are checked here, the engine does the rest. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "popdist/popdist.h"
#include "popdist/src/core/fail.h"
#include "popdist/src/engine/session.h"
#include "popdist/src/core/types.h"

#define SPACE_REGISTER "popdist.register"

/* The participants of an operation, and its key. */
struct place {
    struct engine *engine;
    const struct group *group; /* NULL: there is no other instance */
    uint32_t count, self;      /* participants, and the index of this one */
    const char *key;
};

static enum popdist_status check_id(const char *id, struct popdist_error *error)
{
    if (!id)
        return fail(error, POPDIST_INVALID, "missing key; every operation needs a unique name");
    if (strnlen(id, POPDIST_KEY_MAX + 1) > POPDIST_KEY_MAX)
        return fail(error, POPDIST_INVALID, "the key \"%.40s...\" is longer than %d bytes", id,
                    POPDIST_KEY_MAX);
    return POPDIST_OK;
}

static enum popdist_status find_place(const char *id, struct place *ret, struct popdist_error *error)
{
    const struct group *named = ret->engine ? session_find(id) : NULL;

    ret->group = named ? named : ret->engine ? session_thread_group() : NULL;
    ret->key = named ? "" : id;
    ret->count = ret->group ? ret->group->count : 1;
    ret->self = ret->group ? ret->group->self : 0;
    if (ret->self == GROUP_NOBODY)
        return fail(error, POPDIST_INVALID, "instance %" PRIu32 " is not one of communicator \"%.200s\"",
                    engine_index(ret->engine), named ? id : SESSION_DEFAULT_ID);
    return POPDIST_OK;
}

/* Leaves the session again if it fails. */
static enum popdist_status enter(const char *id, struct place *ret, struct popdist_error *error)
{
    enum popdist_status status = check_id(id, error);

    if (!status)
        status = session_enter(&ret->engine, error);
    if (status)
        return status;
    status = find_place(id, ret, error);
    if (status)
        session_leave();
    return status;
}

static enum popdist_status check_data(const void *data, size_t count, uint64_t parts, enum popdist_type type,
                                      struct popdist_error *error)
{
    size_t size = popdist_type_size(type);

    if (!size)
        return fail(error, POPDIST_INVALID, "unknown element type %d", (int)type);
    if (count && !data)
        return fail(error, POPDIST_INVALID, "data is NULL for %zu elements", count);
    if ((uintptr_t)data % size)
        return fail(error, POPDIST_INVALID, "the data is not aligned to %zu bytes, the size of %s", size,
                    popdist_type_name(type));
    if (count > PTRDIFF_MAX / size / parts)
        return fail(error, POPDIST_INVALID, "%zu elements exceed the address space", count);
    return POPDIST_OK;
}

static enum popdist_status run_for(const struct place *place, const struct layout *layout, void *data,
                                   int64_t timeout_ms, struct popdist_error *error)
{
    enum popdist_status status = POPDIST_OK;

    if (place->count > 1)
        status = engine_run(place->engine, place->group, place->group->id, place->key, layout, data,
                            timeout_ms, error);
    session_leave();
    return status;
}

static enum popdist_status run(const struct place *place, const struct layout *layout, void *data,
                               struct popdist_error *error)
{
    return run_for(place, layout, data, 0, error);
}

enum popdist_status popdist_broadcast(void *data, size_t count, enum popdist_type type, uint32_t root,
                                      const char *id, struct popdist_error *error)
{
    struct layout layout = {OPERATION_BROADCAST, type, root, count};
    struct place place;
    enum popdist_status status = check_data(data, count, 1, type, error);

    if (!status)
        status = enter(id, &place, error);
    if (status)
        return status;
    if (root >= place.count) {
        session_leave();
        return fail(error, POPDIST_INVALID,
                    "the root of broadcast \"%.200s\" is %" PRIu32 ", but there are %" PRIu32 " participants",
                    id, root, place.count);
    }
    return run(&place, &layout, data, error);
}

enum popdist_status popdist_all_reduce_sum(void *data, size_t count, enum popdist_type type, const char *id,
                                           struct popdist_error *error)
{
    struct layout layout = {OPERATION_ALL_REDUCE, type, 0, count};
    struct place place;
    enum popdist_status status = check_data(data, count, 1, type, error);

    if (!status)
        status = enter(id, &place, error);
    return status ? status : run(&place, &layout, data, error);
}

enum popdist_status popdist_num_participants(const char *id, uint32_t *ret, struct popdist_error *error)
{
    struct place place;
    enum popdist_status status = enter(id, &place, error);

    if (status)
        return status;
    *ret = place.count;
    session_leave();
    return POPDIST_OK;
}

enum popdist_status popdist_all_gather(const void *in, void *out, size_t count, enum popdist_type type,
                                       const char *id, struct popdist_error *error)
{
    struct layout layout = {OPERATION_ALL_GATHER, type, 0, count};
    struct place place;
    uint8_t *own;
    enum popdist_status status = enter(id, &place, error);

    if (status)
        return status;
    status = check_data(out, count, place.count, type, error);
    if (status) {
        session_leave();
        return status;
    }
    own = (uint8_t *)out + place.self * count * popdist_type_size(type);
    if (in && in != own && count)
        memmove(own, in, count * popdist_type_size(type));
    return run(&place, &layout, out, error);
}

enum popdist_status popdist_synchronize_for(const char *id, int64_t timeout_ms, struct popdist_error *error)
{
    struct layout layout = {OPERATION_BARRIER, POPDIST_INT8, 0, 0};
    struct place place;
    enum popdist_status status;

    if (timeout_ms < 0)
        return fail(error, POPDIST_INVALID, "a time limit cannot be %" PRId64 " ms; 0 means the usual one",
                    timeout_ms);
    status = enter(id, &place, error);
    return status ? status : run_for(&place, &layout, NULL, timeout_ms, error);
}

enum popdist_status popdist_synchronize(const char *id, struct popdist_error *error)
{
    return popdist_synchronize_for(id, 0, error);
}

const char *popdist_default_communicator_id(void)
{
    return SESSION_DEFAULT_ID;
}

enum popdist_status popdist_backend_place(uint32_t *ret_instances, uint32_t *ret_index,
                                          struct popdist_error *error)
{
    struct engine *engine;
    enum popdist_status status = session_enter(&engine, error);

    if (status)
        return status;
    *ret_instances = engine ? engine_instances(engine) : 1;
    *ret_index = engine ? engine_index(engine) : 0;
    session_leave();
    return POPDIST_OK;
}

static enum popdist_status check_participants(const struct engine *engine, const uint32_t *participants,
                                              size_t count, struct popdist_error *error)
{
    uint32_t instances = engine_instances(engine);

    if (count == 0 || !participants)
        return fail(error, POPDIST_INVALID, "a communicator requires at least one participant");
    if (count > instances)
        return fail(error, POPDIST_INVALID, "%zu participants exceed the %" PRIu32 " instances of the run",
                    count, instances);
    for (size_t i = 0; i < count; i++)
        if (participants[i] >= instances)
            return fail(error, POPDIST_INVALID, "unknown instance %" PRIu32 ": expected 0 to %" PRIu32,
                        participants[i], instances - 1);
    return POPDIST_OK;
}

static enum popdist_status needs_init(struct popdist_error *error)
{
    return fail(error, POPDIST_MISUSE, "choosing instances requires popdist_init() first");
}

/* All instances agree first, so that none has a communicator that another one lacks. */
static enum popdist_status agree(struct engine *engine, const struct group *group,
                                 struct popdist_error *error)
{
    struct layout layout = {OPERATION_REGISTER, POPDIST_INT8, 0, group_hash(group)};
    const struct group *world = session_world();

    if (world->count == 1)
        return POPDIST_OK;
    return engine_run(engine, world, SPACE_REGISTER, group->id, &layout, NULL, 0, error);
}

static enum popdist_status set_default(const uint32_t *participants, size_t count,
                                       struct popdist_error *error)
{
    const struct group *group;
    enum popdist_status status = session_instances(participants, count, &group, error);

    if (!status)
        session_set_default_group(group->count == session_world()->count ? NULL : group);
    return status;
}

enum popdist_status popdist_register_communicator(const uint32_t *participants, size_t count, const char *id,
                                                  struct popdist_error *error)
{
    struct engine *engine;
    struct group *group = NULL;
    enum popdist_status status = check_id(id, error);
    bool is_default = !status && strcmp(id, SESSION_DEFAULT_ID) == 0;

    if (!status)
        status = session_enter(&engine, error);
    if (status)
        return status;
    status = engine ? check_participants(engine, participants, count, error) : needs_init(error);
    if (!status)
        status = group_new(id, participants, count, engine_index(engine), &group, error);
    if (!status)
        status = agree(engine, group, error);
    if (!status)
        status = is_default ? set_default(participants, count, error) : session_add(group, error);
    if (status || is_default)
        group_free(group);
    session_leave();
    return status;
}

enum popdist_status popdist_use_instances(const uint32_t *participants, size_t count,
                                          struct popdist_error *error)
{
    struct engine *engine;
    const struct group *group = NULL;
    enum popdist_status status = session_enter(&engine, error);

    if (status)
        return status;
    if (count)
        status = engine ? check_participants(engine, participants, count, error) : needs_init(error);
    if (!status && count)
        status = session_instances(participants, count, &group, error);
    if (!status && group && group->self == GROUP_NOBODY)
        status = fail(error, POPDIST_INVALID, "instance %" PRIu32 " is not among the chosen ones",
                      engine_index(engine));
    if (!status && engine)
        session_set_thread_group(group);
    session_leave();
    return status;
}
