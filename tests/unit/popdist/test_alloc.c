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
#define LIMIT_MS 300

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
        if (engine_free(engine, &self->clean, NULL))
            abort();
    }
    self->has_failed = has_failed;
    group_free(all);
    return NULL;
}

/* Whether instance 0 came to the allocation that should fail. */
static bool run(size_t fails_at)
{
    struct inproc *world = inproc_new(COUNT);
    struct instance instances[COUNT];
    pthread_t threads[COUNT];

    for (uint32_t i = 0; i < COUNT; i++) {
        instances[i] =
            (struct instance){.link = inproc_link(world, i), .index = i, .fails_at = i == 0 ? fails_at : 0};
        CHECK_INT_EQ(pthread_create(&threads[i], NULL, play, &instances[i]), 0);
    }
    for (uint32_t i = 0; i < COUNT; i++)
        (void)pthread_join(threads[i], NULL);
    inproc_free(world);
    for (uint32_t i = 0; i < COUNT; i++)
        CHECK(fails_at || (!instances[i].first && !instances[i].second));
    if (instances[0].has_failed)
        CHECK(instances[0].first || instances[0].second || !instances[0].clean);
    return instances[0].has_failed;
}

TEST(every_allocation_may_fail)
{
    size_t n = 1;

    CHECK(!run(0));
    while (run(n))
        n++;
    CHECK(n > 10);
}
