#include "popdist/src/engine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "inproc.h"
#include "lib/check.h"
#include "popdist/src/group.h"

#define LONG_MS 60000 /* never reached when all is well */
#define SHORT_MS 300
#define THREADS_MAX 8

/* One instance of a test's run, on a thread of its own. */
struct instance {
    struct inproc *world;
    struct engine *engine;
    struct group *all;
    uint32_t index, count;
    struct popdist_error error;
    enum popdist_status status;
    size_t row;
};

typedef void (*script_fn)(struct instance *self);

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

static void open_instances(struct instance *instances, uint32_t count, int64_t timeout_ms)
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

static void close_instances(struct instance *instances, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bool clean;

        CHECK_INT_EQ(engine_free(instances[i].engine, &clean, NULL), POPDIST_OK);
        group_free(instances[i].all);
    }
    inproc_free(instances[0].world);
}

/* Checks fail in the main thread only, so scripts leave what they found in their instance. */
static void run_all(struct instance *instances, uint32_t count, script_fn script)
{
    pthread_t threads[THREADS_MAX];
    struct stage stages[THREADS_MAX];

    for (uint32_t i = 0; i < count; i++) {
        stages[i] = (struct stage){&instances[i], script};
        CHECK_INT_EQ(pthread_create(&threads[i], NULL, play, &stages[i]), 0);
    }
    for (uint32_t i = 0; i < count; i++)
        (void)pthread_join(threads[i], NULL);
}

static enum popdist_status run(struct instance *self, enum operation operation, const char *key, void *data,
                               uint64_t count, enum popdist_type type, uint32_t root)
{
    struct layout layout = {operation, type, root, count};

    return engine_run(self->engine, self->all, "all", key, &layout, data, 0, &self->error);
}

static void expect_good(const struct instance *instances, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (instances[i].status)
            CHECK_FAIL("instance %u of %u: %s", i, count, instances[i].error.text);
}

static enum popdist_status wrong(struct instance *self, const char *what)
{
    if (self->status)
        return self->status;
    self->status = POPDIST_INVALID;
    (void)snprintf(self->error.text, sizeof self->error.text, "%s is wrong", what);
    return self->status;
}

/* Elements below, at and above what fits into a message; not divisible; more than a window of chunks. */
static const uint64_t sizes[] = {0, 1, 3, 512, 513, 20000, 131072 * 5 + 7};

static void reduce_script(struct instance *self)
{
    uint64_t count = sizes[self->row];
    AUTO(mem) float *data = mem_grow(NULL, count + 1, sizeof *data);

    for (uint64_t i = 0; i < count; i++)
        data[i] = (float)(self->index + 1) * (float)(i % 1000);
    data[count] = -1;
    self->status = run(self, OPERATION_ALL_REDUCE, "sum", data, count, POPDIST_FLOAT, 0);
    for (uint64_t i = 0; i < count && !self->status; i++)
        if (data[i] < (float)(self->count * (self->count + 1) / 2) * (float)(i % 1000) ||
            data[i] > (float)(self->count * (self->count + 1) / 2) * (float)(i % 1000))
            self->status = wrong(self, "a sum");
    if (data[count] > -1 || data[count] < -1)
        self->status = wrong(self, "what stands behind the data");
}

static void broadcast_script(struct instance *self)
{
    uint64_t count = sizes[self->row];
    uint32_t root = self->count - 1;
    AUTO(mem) int32_t *data = mem_grow(NULL, count + 1, sizeof *data);

    for (uint64_t i = 0; i <= count; i++)
        data[i] = self->index == root ? (int32_t)i : -1;
    self->status = run(self, OPERATION_BROADCAST, "weights", data, count, POPDIST_INT32, root);
    for (uint64_t i = 0; i < count; i++)
        if (data[i] != (int32_t)i)
            self->status = wrong(self, "an element");
    if (self->index != root && data[count] != -1)
        self->status = wrong(self, "what stands behind the data");
}

static void gather_script(struct instance *self)
{
    uint64_t count = sizes[self->row], all = count * self->count;
    AUTO(mem) uint16_t *data = mem_grow(NULL, all + 1, sizeof *data);

    memset(data, 0xff, (all + 1) * sizeof *data);
    for (uint64_t i = 0; i < count; i++)
        data[self->index * count + i] = (uint16_t)(self->index * 1000 + i % 1000);
    self->status = run(self, OPERATION_ALL_GATHER, "parts", data, count, POPDIST_UINT16, 0);
    for (uint64_t i = 0; i < all; i++)
        if (data[i] != (uint16_t)(i / count * 1000 + i % count % 1000))
            self->status = wrong(self, "an element");
    if (data[all] != 0xffff)
        self->status = wrong(self, "what stands behind the data");
}

TEST(every_operation_moves_the_right_bytes)
{
    static const script_fn scripts[] = {reduce_script, broadcast_script, gather_script};

    for (uint32_t count = 2; count <= 5; count++) {
        struct instance instances[5];

        open_instances(instances, count, LONG_MS);
        for (size_t row = 0; row < COUNT_OF(sizes); row++) {
            for (size_t script = 0; script < COUNT_OF(scripts); script++) {
                for (uint32_t i = 0; i < count; i++)
                    instances[i].row = row;
                run_all(instances, count, scripts[script]);
                expect_good(instances, count);
            }
        }
        close_instances(instances, count);
    }
}

/* Several threads of each instance, each with keys of its own, even and odd instances in opposite order. */
#define KEYS 4
#define ROUNDS 25

struct worker {
    struct instance *instance;
    struct popdist_error error;
    enum popdist_status status;
    uint32_t number;
};

/* A thread waits in one operation at a time, so opposite orders need as many threads as there are keys. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    struct instance view = *worker->instance;

    for (uint32_t round = 0; round < ROUNDS && !worker->status; round++) {
        AUTO(mem) char *key = mem_printf("key %u", worker->number);
        uint64_t count = round % 2 ? 7 : 4000;
        AUTO(mem) int64_t *data = mem_grow(NULL, count, sizeof *data);

        for (uint64_t i = 0; i < count; i++)
            data[i] = (int64_t)(worker->number * 1000 + round + view.index);
        worker->status = run(&view, OPERATION_ALL_REDUCE, key, data, count, POPDIST_INT64, 0);
        for (uint64_t i = 0; i < count && !worker->status; i++)
            if (data[i] !=
                (int64_t)(view.count * (worker->number * 1000 + round) + view.count * (view.count - 1) / 2))
                worker->status = wrong(&view, key);
    }
    worker->error = view.error;
    return NULL;
}

static void crowd_script(struct instance *self)
{
    pthread_t threads[KEYS];
    struct worker workers[KEYS];

    for (uint32_t i = 0; i < KEYS; i++) {
        /* Even and odd instances start their threads in opposite order. */
        uint32_t number = self->index % 2 ? KEYS - 1 - i : i;

        workers[i] = (struct worker){.instance = self, .number = number};
        if (pthread_create(&threads[i], NULL, work, &workers[i]))
            abort();
    }
    for (uint32_t i = 0; i < KEYS; i++) {
        (void)pthread_join(threads[i], NULL);
        if (workers[i].status) {
            self->status = workers[i].status;
            self->error = workers[i].error;
        }
    }
}

/* On record: operations of different keys are issued by threads in any order. */
TEST(threads_may_call_in_any_order)
{
    struct instance instances[3];

    open_instances(instances, 3, LONG_MS);
    run_all(instances, 3, crowd_script);
    expect_good(instances, 3);
    close_instances(instances, 3);
}

static void barriers_script(struct instance *self)
{
    self->status = POPDIST_OK;
    for (int i = 0; i < 300 && !self->status; i++)
        self->status = run(self, OPERATION_BARRIER, "again", NULL, 0, POPDIST_INT8, 0);
}

TEST(a_key_may_be_used_again_and_again)
{
    struct instance instances[2];

    open_instances(instances, 2, LONG_MS);
    run_all(instances, 2, barriers_script);
    expect_good(instances, 2);
    close_instances(instances, 2);
}

static void mismatch_script(struct instance *self)
{
    float data[8] = {0};

    self->status = self->index == 2 ? run(self, OPERATION_ALL_REDUCE, "grad", data, 4, POPDIST_HALF, 0)
                                    : run(self, OPERATION_ALL_REDUCE, "grad", data, 8, POPDIST_FLOAT, 0);
}

/* On record: Tensor layouts did not match on all instances is told on all of them. */
TEST(a_mismatch_is_told_alike_on_all_instances)
{
    struct instance instances[3];

    open_instances(instances, 3, LONG_MS);
    for (int again = 0; again < 2; again++) {
        run_all(instances, 3, mismatch_script);
        for (uint32_t i = 0; i < 3; i++) {
            CHECK_INT_EQ(instances[i].status, POPDIST_MISMATCH);
            CHECK_STR_EQ(
                instances[i].error.text,
                "Tensor layouts did not match on all instances: for \"grad\", instance 0 has all-reduce of "
                "float[8] and instance 2 has all-reduce of half[4]");
        }
    }
    run_all(instances, 3, barriers_script);
    expect_good(instances, 3);
    close_instances(instances, 3);
}

static void absent_script(struct instance *self)
{
    float data[2] = {1, 2};

    self->status = POPDIST_OK;
    if (self->index != 1 && self->index != 3)
        self->status = run(self, OPERATION_ALL_REDUCE, "grad", data, 2, POPDIST_FLOAT, 0);
}

/* The late ones find that the others have given up, and then all goes on with the same key. */
static void late_script(struct instance *self)
{
    float data[2] = {1, 2};

    self->status = POPDIST_OK;
    if (self->index == 1 || self->index == 3)
        self->status = run(self, OPERATION_ALL_REDUCE, "grad", data, 2, POPDIST_FLOAT, 0);
}

static void resume_script(struct instance *self)
{
    float data[2] = {1, 2};

    self->status = run(self, OPERATION_ALL_REDUCE, "grad", data, 2, POPDIST_FLOAT, 0);
    if (!self->status && (data[0] < 4 || data[0] > 4))
        self->status = wrong(self, "the sum");
}

TEST(the_missing_are_named_and_may_come_again)
{
    struct instance instances[4];

    open_instances(instances, 4, SHORT_MS);
    run_all(instances, 4, absent_script);
    CHECK_INT_EQ(instances[0].status, POPDIST_TIMEOUT);
    CHECK_INT_EQ(instances[2].status, POPDIST_TIMEOUT);
    /* Of the two, one may have heard from the other that it gave up. */
    CHECK(strcmp(instances[0].error.text,
                 "all-reduce \"grad\": instances 1, 3 did not take part within 0.3 s") == 0 ||
          strcmp(instances[2].error.text,
                 "all-reduce \"grad\": instances 1, 3 did not take part within 0.3 s") == 0);
    run_all(instances, 4, late_script);
    for (uint32_t i = 1; i < 4; i += 2) {
        CHECK_INT_EQ(instances[i].status, POPDIST_TIMEOUT);
        CHECK_HAS(instances[i].error.text, "gave up waiting for others");
    }
    for (uint32_t i = 0; i < 4; i++)
        engine_set_timeout_ms(instances[i].engine, LONG_MS);
    run_all(instances, 4, resume_script);
    expect_good(instances, 4);
    close_instances(instances, 4);
}

static void large_script(struct instance *self)
{
    AUTO(mem) float *data = mem_grow(NULL, 100000, sizeof *data);

    memset(data, 0, 100000 * sizeof *data);
    self->status = run(self, OPERATION_ALL_REDUCE, "big", data, 100000, POPDIST_FLOAT, 0);
}

TEST(data_that_stops_moving_ends_everything)
{
    struct instance instances[2];

    open_instances(instances, 2, SHORT_MS);
    inproc_cut(instances[0].world);
    run_all(instances, 2, large_script);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK(instances[i].status == POPDIST_TIMEOUT);
        CHECK_HAS(instances[i].error.text, i ? "instance 0 " : "instance 1 ");
    }
    run_all(instances, 2, barriers_script);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_INT_EQ(instances[i].status, POPDIST_BROKEN);
        CHECK_HAS(instances[i].error.text, "no operation is possible any more: all-reduce \"big\"");
    }
    for (uint32_t i = 0; i < 2; i++) {
        bool clean = true;

        CHECK_INT_EQ(engine_free(instances[i].engine, &clean, NULL), POPDIST_OK);
        CHECK(!clean);
        group_free(instances[i].all);
    }
    inproc_free(instances[0].world);
}
