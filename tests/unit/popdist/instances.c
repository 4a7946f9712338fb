#include "instances.h"

#include <pthread.h>
#include <stdio.h>

#include "lib/check.h"

#define INSTANCES_MAX 8

struct stage {
    struct instance *self;
    script_fn script;
};

static void *play(void *argument)
{
    struct stage *stage = argument;

    stage->script(stage->self);
    return NULL;
}

void instances_open(struct instance *instances, uint32_t count, int64_t timeout_ms)
{
    struct inproc *world = inproc_new(count);
    struct popdist_error error;

    for (uint32_t i = 0; i < count; i++) {
        struct link link = inproc_link(world, i);

        instances[i] = (struct instance){.world = world, .index = i, .count = count};
        CHECK_INT_EQ(group_new("all", NULL, count, i, &instances[i].all, &error), POPDIST_OK);
        CHECK_INT_EQ(engine_new(&link, timeout_ms, &instances[i].engine, &error), POPDIST_OK);
    }
}

void instances_close(struct instance *instances, uint32_t count, bool broken)
{
    for (uint32_t i = 0; i < count; i++) {
        bool clean = broken;

        CHECK_INT_EQ(engine_free(instances[i].engine, &clean, NULL), POPDIST_OK);
        CHECK(clean == !broken);
        group_free(instances[i].all);
    }
    inproc_free(instances[0].world);
}

void instances_run(struct instance *instances, uint32_t count, script_fn script)
{
    pthread_t threads[INSTANCES_MAX];
    struct stage stages[INSTANCES_MAX];

    for (uint32_t i = 0; i < count; i++) {
        stages[i] = (struct stage){&instances[i], script};
        CHECK_INT_EQ(pthread_create(&threads[i], NULL, play, &stages[i]), 0);
    }
    for (uint32_t i = 0; i < count; i++)
        (void)pthread_join(threads[i], NULL);
}

void instances_expect_good(const struct instance *instances, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (instances[i].status)
            CHECK_FAIL("instance %u of %u: %s", i, count, instances[i].error.text);
}

enum popdist_status instance_call(struct instance *self, enum operation operation, const char *key,
                                  void *data, uint64_t count, enum popdist_type type, uint32_t root)
{
    struct layout layout = {operation, type, root, count};

    return engine_run(self->engine, self->all, "all", key, &layout, data, 0, &self->error);
}

enum popdist_status instance_wrong(struct instance *self, const char *what)
{
    if (self->status)
        return self->status;
    self->status = POPDIST_INVALID;
    (void)snprintf(self->error.text, sizeof self->error.text, "%s is wrong", what);
    return self->status;
}
