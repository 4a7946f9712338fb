/* The n-th allocation of one instance fails, for every n: each call ends with a status, nobody hangs, and
 * nothing is lost. */
#include "popdist/src/core/alloc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "inproc.h"
#include "lib/check.h"
#include "popdist/src/engine/engine.h"

#define COUNT 2
#define ELEMENTS 3000
/* Where nothing fails, also a busy machine is faster. */
#define LIMIT_MS 3000
#define TRIALS 50 /* more than there are allocations */

/* The linker gives these names to popdist_alloc and to what calls it. */
void *__real_popdist_alloc(size_t count, size_t size);
void *__wrap_popdist_alloc(size_t count, size_t size);

static _Thread_local size_t left; /* allocations until one fails; 0: none does */
static _Thread_local bool has_failed;

void *__wrap_popdist_alloc(size_t count, size_t size)
{
    if (left && --left == 0) {
        has_failed = true;
        return NULL;
    }
    return __real_popdist_alloc(count, size);
}

struct instance {
    struct link link;
    uint32_t index;
    pthread_barrier_t *done; /* until all have played, each answers the others */
    size_t fails_at;
    bool has_failed, clean;
    enum popdist_status first, second;
};

static enum popdist_status reduce(struct engine *engine, const struct group *all, const char *key,
                                  uint64_t count)
{
    struct layout layout = {OPERATION_ALL_REDUCE, POPDIST_FLOAT, 0, count};
    struct popdist_error error;
    float data[ELEMENTS] = {0};

    return engine_run(engine, all, "all", key, &layout, data, 0, &error);
}

static void *play(void *argument)
{
    struct instance *self = argument;
    struct engine *engine = NULL;
    struct group *all = NULL;

    left = self->fails_at;
    self->clean = true;
    self->first = group_new("all", NULL, COUNT, self->index, &all, NULL);
    if (!self->first)
        self->first = engine_new(&self->link, LIMIT_MS, &engine, NULL);
    self->second = self->first;
    if (engine) {
        self->first = reduce(engine, all, "small", 3);
        self->second = reduce(engine, all, "large", ELEMENTS);
    }
    (void)pthread_barrier_wait(self->done);
    if (engine) {
        if (engine_free(engine, &self->clean, NULL))
            abort();
    }
    self->has_failed = has_failed;
    group_free(all);
    return NULL;
}

/* Two instances, of which the first comes to an allocation that fails. */
struct trial {
    struct inproc *world;
    struct instance instances[COUNT];
    pthread_t threads[COUNT];
    pthread_barrier_t done;
};

static void begin(struct trial *trial, size_t fails_at)
{
    trial->world = inproc_new(COUNT);
    CHECK_INT_EQ(pthread_barrier_init(&trial->done, NULL, COUNT), 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        trial->instances[i] = (struct instance){.link = inproc_link(trial->world, i),
                                                .index = i,
                                                .done = &trial->done,
                                                .fails_at = i == 0 ? fails_at : 0};
        CHECK_INT_EQ(pthread_create(&trial->threads[i], NULL, play, &trial->instances[i]), 0);
    }
}

/* Whether it came to that allocation. */
static bool end(struct trial *trial)
{
    const struct instance *first = &trial->instances[0];

    for (uint32_t i = 0; i < COUNT; i++)
        (void)pthread_join(trial->threads[i], NULL);
    (void)pthread_barrier_destroy(&trial->done);
    inproc_free(trial->world);
    for (uint32_t i = 0; i < COUNT; i++)
        CHECK(first->fails_at || (!trial->instances[i].first && !trial->instances[i].second));
    if (first->has_failed)
        CHECK(first->first || first->second || !first->clean);
    return first->has_failed;
}

/* At the same time, because some wait long for an instance that no longer answers. */
TEST(every_allocation_may_fail)
{
    static struct trial trials[TRIALS];
    size_t failed = 0;

    for (size_t n = 0; n < TRIALS; n++)
        begin(&trials[n], n);
    CHECK(!end(&trials[0]));
    for (size_t n = 1; n < TRIALS; n++) {
        bool came = end(&trials[n]);

        CHECK(!came || failed == n - 1);
        failed += came;
    }
    CHECK(failed > 10 && failed < TRIALS - 1);
}
