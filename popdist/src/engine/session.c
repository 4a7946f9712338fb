#include "popdist/src/engine/session.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "popdist/src/engine/self_backend.h"
#include "popdist/src/core/fail.h"
#include "popdist/src/engine/plugin.h"
#include "popdist/src/query/settings.h"

enum stage { NONE, REGISTERED, INITIALIZED, FINALIZED };

static struct {
    pthread_mutex_t lock; /* of all but the engine's own work */
    enum stage stage;
    uint32_t inside; /* threads between enter and leave */
    struct link link;
    struct engine *engine;
    struct group *world;
    const struct group *standard; /* the default communicator; NULL: world */
    struct group *communicators;  /* registered ones */
    struct group *choices;        /* those of session_instances */
    uint32_t groups;
    int64_t timeout_ms; /* 0: as the environment says */
} session = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local const struct group *chosen;

static void lock(void)
{
    (void)pthread_mutex_lock(&session.lock);
}

static void unlock(void)
{
    (void)pthread_mutex_unlock(&session.lock);
}

static enum popdist_status misuse(const char *wanted, struct popdist_error *error)
{
    static const char *const stages[] = {
        [NONE] = "no backend is registered",
        [REGISTERED] = "the backend is not initialized",
        [INITIALIZED] = "the backend is already initialized",
        [FINALIZED] = "the backend is finalized and cannot be started again in the same process",
    };

    return fail(error, POPDIST_MISUSE, "%s: %s; the order is register, initialize, finalize", wanted,
                stages[session.stage]);
}

static enum popdist_status register_as(const char *path, bool alone, struct popdist_error *error)
{
    enum popdist_status status;

    if (session.stage != NONE)
        return session.stage == REGISTERED
                   ? fail(error, POPDIST_MISUSE, "a backend is already registered; register only one")
                   : misuse("cannot register a backend now", error);
    if (alone) {
        session.link.backend = self_backend();
        status = POPDIST_OK;
    } else {
        status = path ? plugin_load(path, &session.link.backend, error)
                      : plugin_load_default(&session.link.backend, error);
    }
    if (!status)
        session.stage = REGISTERED;
    return status;
}

/* Neither ipu-launch, poprun nor mpirun has started more than this one. */
static enum popdist_status runs_alone(bool *ret, struct popdist_error *error)
{
    uint32_t total, local, run;
    enum popdist_status status = setting_read(SETTING_TOTAL_REPLICAS, &total, error);

    if (!status)
        status = setting_read(SETTING_LOCAL_REPLICAS, &local, error);
    if (!status)
        status = setting_read(SETTING_RUN_SIZE, &run, error);
    if (!status)
        *ret = total <= local && run <= 1;
    return status;
}

static enum popdist_status register_default(struct popdist_error *error)
{
    bool alone;
    enum popdist_status status = runs_alone(&alone, error);

    return status ? status : register_as(NULL, alone, error);
}

enum popdist_status popdist_register_default_backend(struct popdist_error *error)
{
    enum popdist_status status;

    lock();
    status = register_default(error);
    unlock();
    return status;
}

enum popdist_status popdist_register_backend(const char *path, struct popdist_error *error)
{
    enum popdist_status status;

    if (!path || !*path)
        return fail(error, POPDIST_INVALID, "the backend's path is empty");
    lock();
    status = register_as(path, false, error);
    unlock();
    return status;
}

/* The launcher's variables and the backend's result must describe the same run. */
static enum popdist_status check_place(struct popdist_error *error)
{
    uint32_t instances, index, uniform;
    uint32_t found = session.link.backend->instances(session.link.self);
    uint32_t found_index = session.link.backend->index(session.link.self);
    enum popdist_status status = setting_read(SETTING_UNIFORM, &uniform, error);

    if (status || !uniform || !popdist_is_env_set())
        return status;
    status = popdist_num_instances(&instances, error);
    if (!status)
        status = popdist_instance_index(&index, error);
    if (status)
        return status;
    if (instances != found || index != found_index)
        return fail(error, POPDIST_INVALID,
                    "the environment says instance %" PRIu32 " of %" PRIu32
                    ", but the backend connects %" PRIu32 " and this is number %" PRIu32
                    "; start the program with poprun",
                    index, instances, found, found_index);
    return POPDIST_OK;
}

static enum popdist_status start(struct popdist_error *error)
{
    uint32_t seconds;
    enum popdist_status status = setting_read(SETTING_TIMEOUT_S, &seconds, error);

    if (!status && !session.timeout_ms)
        session.timeout_ms = (int64_t)seconds * 1000;
    if (!status)
        status = check_place(error);
    if (!status)
        status = group_new(SESSION_DEFAULT_ID, NULL, session.link.backend->instances(session.link.self),
                           session.link.backend->index(session.link.self), &session.world, error);
    if (!status)
        status = engine_new(&session.link, session.timeout_ms, &session.engine, error);
    return status;
}

static enum popdist_status initialize(struct popdist_error *error)
{
    enum popdist_status status;

    if (session.stage != REGISTERED)
        return misuse("cannot initialize the backend now", error);
    status = session.link.backend->open(&session.link.self, error);
    if (status)
        return status;
    status = start(error);
    session.stage = status ? FINALIZED : INITIALIZED;
    if (status)
        (void)session.link.backend->close(session.link.self, false, NULL);
    return status;
}

enum popdist_status popdist_initialize_backend(struct popdist_error *error)
{
    enum popdist_status status;

    lock();
    status = initialize(error);
    unlock();
    return status;
}

bool popdist_is_backend_initialized(void)
{
    bool is;

    lock();
    is = session.stage == INITIALIZED;
    unlock();
    return is;
}

enum popdist_status popdist_init(struct popdist_error *error)
{
    enum popdist_status status = POPDIST_OK;

    lock();
    if (session.stage == NONE)
        status = register_default(error);
    if (!status && session.stage != INITIALIZED)
        status = initialize(error);
    unlock();
    return status;
}

static void free_groups(struct group **list)
{
    while (*list) {
        struct group *group = *list;

        *list = group->next;
        group_free(group);
    }
}

/* Ends the session for all threads. *ret is NULL if it has ended before. */
static enum popdist_status take_engine(struct engine **ret, struct popdist_error *error)
{
    *ret = NULL;
    if (session.stage == FINALIZED)
        return POPDIST_OK;
    if (session.stage != INITIALIZED)
        return misuse("nothing to finalize", error);
    if (session.inside)
        return fail(
            error, POPDIST_MISUSE,
            "a collective operation is still running in another thread; wait for it before finalizing");
    *ret = session.engine;
    session.stage = FINALIZED;
    session.engine = NULL;
    return POPDIST_OK;
}

/* Waits for the other instances, for any time: nothing is locked meanwhile. */
static enum popdist_status close_engine(struct engine *engine, struct popdist_error *error)
{
    bool clean = false;
    enum popdist_status status = POPDIST_OK, closed;

    if (session.world->count > 1)
        status = engine_run_last(engine, session.world, error);
    /* Has been reported by the operation that broke it. */
    if (status == POPDIST_BROKEN)
        status = POPDIST_OK;
    (void)engine_free(engine, &clean, NULL);
    free_groups(&session.communicators);
    free_groups(&session.choices);
    group_free(session.world);
    session.world = NULL;
    session.standard = NULL;
    closed = session.link.backend->close(session.link.self, clean && !status, status ? NULL : error);
    return status ? status : closed;
}

enum popdist_status popdist_finalize_backend(struct popdist_error *error)
{
    struct engine *engine;
    enum popdist_status status;

    lock();
    status = take_engine(&engine, error);
    unlock();
    return engine ? close_engine(engine, error) : status;
}

enum popdist_status popdist_stop_collectives(const char *reason, struct popdist_error *error)
{
    enum popdist_status status = POPDIST_OK;

    lock();
    if (!reason || session.stage != INITIALIZED)
        status =
            reason ? misuse("nothing to stop", error) : fail(error, POPDIST_INVALID, "the reason is NULL");
    else
        engine_stop(session.engine, reason);
    unlock();
    return status;
}

enum popdist_status session_enter(struct engine **ret, struct popdist_error *error)
{
    bool alone = false;
    enum popdist_status status = POPDIST_OK;

    lock();
    if (session.stage == NONE || session.stage == REGISTERED)
        status = runs_alone(&alone, error);
    if (!status && !alone && session.stage != INITIALIZED)
        status = misuse("collective operations require popdist_init() first", error);
    if (!status) {
        session.inside++;
        *ret = session.engine;
    }
    unlock();
    return status;
}

void session_leave(void)
{
    lock();
    session.inside--;
    unlock();
}

const struct group *session_world(void)
{
    return session.world;
}

static const struct group *thread_group(void)
{
    if (chosen)
        return chosen;
    return session.standard ? session.standard : session.world;
}

const struct group *session_thread_group(void)
{
    const struct group *group;

    lock();
    group = thread_group();
    unlock();
    return group;
}

void session_set_default_group(const struct group *group)
{
    lock();
    session.standard = group;
    unlock();
}

void session_set_thread_group(const struct group *group)
{
    chosen = group;
}

static struct group *find(struct group *list, const char *id)
{
    while (list && strcmp(list->id, id) != 0)
        list = list->next;
    return list;
}

const struct group *session_find(const char *id)
{
    const struct group *group;

    lock();
    group = strcmp(id, SESSION_DEFAULT_ID) == 0 ? thread_group() : find(session.communicators, id);
    unlock();
    return group;
}

static enum popdist_status add(struct group **list, struct group *group, struct popdist_error *error)
{
    if (session.groups >= SESSION_GROUPS_MAX)
        return fail(error, POPDIST_INVALID, "too many communicators (limit %d)", SESSION_GROUPS_MAX);
    session.groups++;
    group->next = *list;
    *list = group;
    return POPDIST_OK;
}

enum popdist_status session_add(struct group *group, struct popdist_error *error)
{
    enum popdist_status status;

    lock();
    if (find(session.communicators, group->id))
        status = fail(error, POPDIST_MISUSE, "communicator \"%.200s\" is already registered", group->id);
    else
        status = add(&session.communicators, group, error);
    unlock();
    return status;
}

static bool has_members(const struct group *group, const struct group *other)
{
    return group->count == other->count &&
           memcmp(group->members, other->members, group->count * sizeof *group->members) == 0;
}

enum popdist_status session_instances(const uint32_t *participants, size_t count, const struct group **ret,
                                      struct popdist_error *error)
{
    static const char pattern[] = "popdist.instances 0123456789abcdef";
    struct group *group, *same;
    enum popdist_status status =
        group_new(pattern, participants, count, engine_index(session.engine), &group, error);

    if (status)
        return status;
    (void)snprintf(group->id, sizeof pattern, "popdist.instances %016" PRIx64, group_hash(group));
    lock();
    for (same = session.choices; same && !has_members(same, group);)
        same = same->next;
    if (!same)
        status = add(&session.choices, group, error);
    unlock();
    if (same || status)
        group_free(group);
    *ret = same ? same : group;
    return status;
}

enum popdist_status popdist_timeout_ms(int64_t *ret, struct popdist_error *error)
{
    uint32_t seconds;
    enum popdist_status status = setting_read(SETTING_TIMEOUT_S, &seconds, error);

    if (status)
        return status;
    lock();
    *ret = session.timeout_ms ? session.timeout_ms : (int64_t)seconds * 1000;
    unlock();
    return POPDIST_OK;
}

enum popdist_status popdist_set_timeout_ms(int64_t timeout_ms, struct popdist_error *error)
{
    if (timeout_ms < 1)
        return fail(error, POPDIST_INVALID,
                    "a time limit of %" PRId64 " ms ends every operation at once; give 1 or more",
                    timeout_ms);
    lock();
    session.timeout_ms = timeout_ms;
    if (session.stage == INITIALIZED)
        engine_set_timeout_ms(session.engine, timeout_ms);
    unlock();
    return POPDIST_OK;
}
