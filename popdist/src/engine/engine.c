#include "popdist/src/engine/engine.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "popdist/src/core/fail.h"
#include "popdist/src/core/alloc.h"
#include "popdist/src/core/progress_engine.h"

#define TURNS_PER_LOOK 16
#define SPIN_TURNS 1000   /* without a pause: shorter waits are cheaper than a pause */
#define YIELD_TURNS 20000 /* with sched_yield; then sleeping */
#define SHORT_WAITS 21000 /* first short, then long: a long wait tolerates some latency */
#define POLL_WAIT_US 100
#define LONG_POLL_WAIT_US 1000
#define BACKGROUND_WAIT_US 5000
#define BACKGROUND_PASSES 200 /* after the last message: as long as setting up a connection may take */
#define FOREVER_MS (INT64_MAX / 2)
#define IDLE_WAIT_US 100000 /* afterwards: others may time out and ask for this instance's vote */

struct engine {
    struct progress_engine progress_engine;
    uint32_t instances, index;
    pthread_mutex_t lock; /* of everything below, and of the progress engine */
    atomic_uint wanting;  /* threads that want the lock while another one drives */
    pthread_cond_t poll_wait;
    bool is_polling;
    int64_t timeout_ms;
    int64_t now_ms;
    unsigned turns;
    pthread_t background;
    pthread_cond_t background_wake;
    uint32_t background_passes; /* how many more passes */
    bool stopping;
    struct entry *abandoned; /* ended while the backend used their memory */
    struct engine *next_unclean;
};

/* A call, and the thread that waits for it. */
struct entry {
    struct call call; /* the first, so that a call's address is its entry's */
    struct entry *next;
    pthread_cond_t done;
    bool sleeps;  /* its thread waits for done */
    bool counted; /* counted in wanting, for its thread */
};

static int64_t now_ms(void)
{
    struct timespec now;

    /* Time limits are seconds; the coarse clock is precise enough and costs a fifth. */
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void cond_wait_us(struct engine *engine, pthread_cond_t *cond, long us)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += us * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(cond, &engine->lock, &until);
}

static bool init_cond(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    bool good;

    if (pthread_condattr_init(&attributes))
        return false;
    good = !pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) && !pthread_cond_init(cond, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return good;
}

/* The driver holds the lock nearly always; it checks wanting and releases it. */
static void enter(struct engine *engine)
{
    atomic_fetch_add(&engine->wanting, 1);
    (void)pthread_mutex_lock(&engine->lock);
    atomic_fetch_sub(&engine->wanting, 1);
}

static void leave(struct engine *engine)
{
    (void)pthread_mutex_unlock(&engine->lock);
}

static void yield_lock(struct engine *engine)
{
    leave(engine);
    (void)sched_yield();
    (void)pthread_mutex_lock(&engine->lock);
}

/* The progress engine's report that a call is done. */
static void wake(void *owner, struct call *call)
{
    struct engine *engine = owner;
    struct entry *entry = (struct entry *)call;

    if (!entry->sleeps)
        return;
    entry->counted = true;
    atomic_fetch_add(&engine->wanting, 1);
    (void)pthread_cond_signal(&entry->done);
}

static bool turn(struct engine *engine)
{
    /* The clock is only for deadlines. */
    if (engine->turns++ % TURNS_PER_LOOK == 0)
        engine->now_ms = now_ms();
    return progress_engine_poll(&engine->progress_engine, engine->now_ms);
}

static void progress_until_done(struct engine *engine, const struct entry *mine)
{
    unsigned idle = 0;

    engine->is_polling = true;
    while (mine->call.state != CALL_DONE) {
        idle = turn(engine) ? 0 : idle + 1;
        if (mine->call.state == CALL_DONE)
            break;
        if (atomic_load(&engine->wanting) || (idle > SPIN_TURNS && idle < YIELD_TURNS))
            yield_lock(engine);
        else if (idle >= YIELD_TURNS)
            cond_wait_us(engine, &engine->poll_wait, idle < SHORT_WAITS ? POLL_WAIT_US : LONG_POLL_WAIT_US);
    }
    engine->is_polling = false;
    if (engine->progress_engine.calls)
        (void)pthread_cond_signal(&((struct entry *)engine->progress_engine.calls)->done);
}

static void wait_for(struct engine *engine, struct entry *entry)
{
    while (entry->call.state != CALL_DONE) {
        if (!engine->is_polling) {
            progress_until_done(engine, entry);
            continue;
        }
        entry->sleeps = true;
        (void)pthread_cond_wait(&entry->done, &engine->lock);
        entry->sleeps = false;
    }
    if (entry->counted)
        atomic_fetch_sub(&engine->wanting, 1);
}

static void wake_background(struct engine *engine)
{
    if (!engine->background_passes)
        (void)pthread_cond_signal(&engine->background_wake);
    engine->background_passes = BACKGROUND_PASSES;
}

static void *background_thread(void *argument)
{
    struct engine *engine = argument;

    (void)pthread_mutex_lock(&engine->lock);
    while (!engine->stopping) {
        if (!engine->is_polling) {
            while (turn(engine) && !atomic_load(&engine->wanting))
                engine->background_passes = BACKGROUND_PASSES;
            /* Unfinished sends are driven as long as that can help. */
            if (engine->background_passes > 1 || !engine->progress_engine.posts ||
                engine->progress_engine.broken.status)
                engine->background_passes -= engine->background_passes > 0;
        }
        cond_wait_us(engine, &engine->background_wake,
                     engine->background_passes ? BACKGROUND_WAIT_US : IDLE_WAIT_US);
    }
    leave(engine);
    return NULL;
}

enum popdist_status engine_new(const struct link *link, int64_t timeout_ms, struct engine **ret,
                               struct popdist_error *error)
{
    struct engine *engine = popdist_alloc(1, sizeof *engine);

    if (!engine)
        return fail_memory(error);
    engine->instances = link->backend->instances(link->self);
    engine->index = link->backend->index(link->self);
    engine->timeout_ms = timeout_ms;
    if (progress_engine_init(&engine->progress_engine, link, wake, engine, error) ||
        pthread_mutex_init(&engine->lock, NULL) || !init_cond(&engine->poll_wait) ||
        !init_cond(&engine->background_wake) ||
        pthread_create(&engine->background, NULL, background_thread, engine)) {
        progress_engine_release(&engine->progress_engine);
        popdist_free(engine);
        return fail(error, POPDIST_NO_MEMORY, "not enough memory, or too many threads, to start");
    }
    *ret = engine;
    return POPDIST_OK;
}

/* A backend that failed cannot report what it still reads and writes, so none of that is freed. */
static void keep_memory(struct engine *engine)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct engine *unclean;

    (void)pthread_mutex_lock(&lock);
    engine->next_unclean = unclean;
    unclean = engine;
    (void)pthread_mutex_unlock(&lock);
}

enum popdist_status engine_free(struct engine *engine, bool *ret_clean, struct popdist_error *error)
{
    enter(engine);
    if (engine->progress_engine.calls) {
        leave(engine);
        return fail(error, POPDIST_MISUSE,
                    "operation \"%.200s\" is still running in another thread; wait for it before finalizing",
                    engine->progress_engine.calls->subject);
    }
    engine->stopping = true;
    (void)pthread_cond_signal(&engine->background_wake);
    leave(engine);
    (void)pthread_join(engine->background, NULL);
    *ret_clean = !engine->progress_engine.broken.status;
    progress_engine_release(&engine->progress_engine);
    (void)pthread_cond_destroy(&engine->background_wake);
    (void)pthread_cond_destroy(&engine->poll_wait);
    (void)pthread_mutex_destroy(&engine->lock);
    if (*ret_clean)
        popdist_free(engine);
    else
        keep_memory(engine);
    return POPDIST_OK;
}

void engine_stop(struct engine *engine, const char *reason)
{
    enter(engine);
    progress_engine_stop(&engine->progress_engine, reason);
    leave(engine);
}

uint32_t engine_instances(const struct engine *engine)
{
    return engine->instances;
}

uint32_t engine_index(const struct engine *engine)
{
    return engine->index;
}

void engine_set_timeout_ms(struct engine *engine, int64_t timeout_ms)
{
    enter(engine);
    engine->timeout_ms = timeout_ms;
    leave(engine);
}

/* One block for the entry, its pointers by rank and its key. */
static struct entry *entry_new(const struct group *group, const char *space, const char *key)
{
    size_t space_size = strlen(space) + 1, key_size = strlen(key);
    size_t pointers = group->count * sizeof(struct match_announcement *);
    struct entry *entry = popdist_alloc(1, sizeof *entry + pointers + space_size + key_size + 1);
    char *text;

    if (!entry)
        return NULL;
    if (!init_cond(&entry->done)) {
        popdist_free(entry);
        return NULL;
    }
    entry->call.match_op.from = (struct match_announcement **)(void *)(entry + 1);
    text = (char *)(entry + 1) + pointers;
    memcpy(text, space, space_size);
    memcpy(text + space_size, key, key_size + 1);
    entry->call.match_op.key = text;
    entry->call.match_op.key_size = space_size + key_size;
    entry->call.match_op.group = group;
    entry->call.subject = key_size ? text + space_size : text;
    return entry;
}

static void entry_free(struct entry *entry)
{
    (void)pthread_cond_destroy(&entry->done);
    exchange_release(&entry->call.exchange);
    popdist_free(entry);
}

/* Runs the entry's call to its end, and frees the entry. */
static enum popdist_status run_entry(struct engine *engine, struct entry *entry, int64_t timeout_ms,
                                     struct popdist_error *error)
{
    struct popdist_error reason;
    enum popdist_status status;
    bool keeps;

    entry->call.error = &reason;
    enter(engine);
    engine->now_ms = now_ms();
    status = progress_engine_begin(&engine->progress_engine, &entry->call, engine->now_ms,
                                   timeout_ms ? timeout_ms : engine->timeout_ms, &reason);
    if (!status) {
        wait_for(engine, entry);
        status = entry->call.status;
    }
    if (entry->call.announcement)
        entry->call.announcement->held = false;
    wake_background(engine);
    keeps = call_left_unmatched_data(&entry->call);
    if (keeps) {
        entry->next = engine->abandoned;
        engine->abandoned = entry;
    }
    leave(engine);
    if (!keeps)
        entry_free(entry);
    if (status && error)
        *error = reason;
    return status;
}

enum popdist_status engine_run(struct engine *engine, const struct group *group, const char *space,
                               const char *key, const struct layout *layout, void *data, int64_t timeout_ms,
                               struct popdist_error *error)
{
    struct entry *entry = entry_new(group, space, key);

    if (!entry)
        return fail_memory(error);
    entry->call.layout = *layout;
    entry->call.data = data;
    return run_entry(engine, entry, timeout_ms, error);
}

enum popdist_status engine_run_last(struct engine *engine, const struct group *group,
                                    struct popdist_error *error)
{
    struct entry *entry = entry_new(group, "popdist.finalize", "");

    if (!entry)
        return fail_memory(error);
    entry->call.layout = (struct layout){.operation = OPERATION_BARRIER, .type = POPDIST_INT8};
    entry->call.is_last = true;
    return run_entry(engine, entry, FOREVER_MS, error);
}
