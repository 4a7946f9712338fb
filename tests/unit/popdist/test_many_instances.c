/* Several threads of each instance at once, each with keys of its own, while some fail: what the thread
 * sanitizer looks at. */
#include "popdist/src/engine/engine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "instances.h"
#include "lib/check.h"

#define INSTANCES 3
#define MEMBERS 4
#define ROUNDS 25
#define FAILURES 5
#define LARGE 100000
#define MISSED 2 /* the thread whose key instance 1 comes to only when the others have given up */

/* One thread of an instance. A thread waits in one operation at a time, so opposite orders need threads. */
struct member {
    struct instance *instance;
    uint32_t number;
    enum popdist_status status;
    struct popdist_error error;
};

typedef void *(*part_fn)(void *member);

static void fail_member(struct member *member, const char *what)
{
    member->status = POPDIST_INVALID;
    (void)snprintf(member->error.text, sizeof member->error.text, "thread %u: %s", member->number, what);
}

static enum popdist_status call(struct member *member, void *data, struct layout layout, int64_t timeout_ms)
{
    AUTO(mem) char *key = mem_printf("key %u", member->number);
    struct instance *instance = member->instance;

    return engine_run(instance->engine, instance->all, "all", key, &layout, data, timeout_ms, &member->error);
}

static void sum_once(struct member *member, uint32_t round, uint64_t count)
{
    AUTO(mem) int64_t *data = mem_grow(NULL, count, sizeof *data);
    const uint32_t others = member->instance->count;
    const int64_t mine = (int64_t)(member->number * 1000 + round);

    for (uint64_t i = 0; i < count; i++)
        data[i] = mine + member->instance->index;
    member->status =
        call(member, data, (struct layout){OPERATION_ALL_REDUCE, POPDIST_INT64, 0, count}, LONG_MS);
    for (uint64_t i = 0; i < count && !member->status; i++)
        if (data[i] != others * mine + others * (others - 1) / 2)
            fail_member(member, "a sum is wrong");
}

static void *sum(void *argument)
{
    struct member *member = argument;

    for (uint32_t round = 0; round < ROUNDS && !member->status; round++)
        sum_once(member, round, round % 2 ? 7 : 4000);
    return NULL;
}

static void *disagree(void *argument)
{
    struct member *member = argument;
    float data[8] = {0};

    for (int i = 0; i < FAILURES && !member->status; i++) {
        uint64_t count = member->instance->index == 0 ? 8 : 4;

        if (call(member, data, (struct layout){OPERATION_ALL_REDUCE, POPDIST_FLOAT, 0, count}, LONG_MS) !=
            POPDIST_MISMATCH)
            fail_member(member, "a mismatch went unnoticed");
    }
    return NULL;
}

static void expect_absence(struct member *member)
{
    for (int i = 0; i < FAILURES && !member->status; i++)
        if (call(member, NULL, (struct layout){OPERATION_BARRIER, POPDIST_INT8, 0, 0}, SHORT_MS) !=
            POPDIST_TIMEOUT)
            fail_member(member, "an absence went unnoticed");
}

static void *miss(void *argument)
{
    struct member *member = argument;

    if (member->instance->index != 1)
        expect_absence(member);
    return NULL;
}

/* One of all threads cuts the way between the instances when it has been used for a while. */
static void *sum_until_cut(void *argument)
{
    struct member *member = argument;
    AUTO(mem) float *data = mem_grow(NULL, LARGE, sizeof *data);
    struct layout layout = {OPERATION_ALL_REDUCE, POPDIST_FLOAT, 0, LARGE};

    memset(data, 0, LARGE * sizeof *data);
    for (int round = 0; !member->status; round++) {
        if (round == FAILURES && member->instance->index == 0 && member->number == 0)
            inproc_cut(member->instance->world);
        member->status = call(member, data, layout, SHORT_MS);
    }
    return NULL;
}

static void play(struct instance *self, const part_fn *parts)
{
    pthread_t threads[MEMBERS];
    struct member members[MEMBERS];

    for (uint32_t i = 0; i < MEMBERS; i++) {
        /* Even and odd instances start their threads in opposite order. */
        uint32_t number = self->index % 2 ? MEMBERS - 1 - i : i;

        members[i] = (struct member){.instance = self, .number = number};
        if (pthread_create(&threads[i], NULL, parts[number], &members[i]))
            abort();
    }
    for (uint32_t i = 0; i < MEMBERS; i++) {
        (void)pthread_join(threads[i], NULL);
        self->row += members[i].status != POPDIST_OK;
        if (members[i].status) {
            self->status = members[i].status;
            self->error = members[i].error;
        }
    }
}

static void all_sum_script(struct instance *self)
{
    play(self, (const part_fn[MEMBERS]){sum, sum, sum, sum});
}

static void some_fail_script(struct instance *self)
{
    play(self, (const part_fn[MEMBERS]){disagree, sum, [MISSED] = miss, sum});
}

/* Whoever has met the others has read what they said before, such as that they gave up. */
static void meet_script(struct instance *self)
{
    struct member member = {.instance = self, .number = MISSED + 1};

    sum_once(&member, 0, 7);
    self->status = member.status;
    self->error = member.error;
}

static void late_script(struct instance *self)
{
    struct member member = {.instance = self, .number = MISSED};

    if (self->index == 1)
        expect_absence(&member);
    self->status = member.status;
    self->error = member.error;
}

static void all_are_cut_script(struct instance *self)
{
    play(self, (const part_fn[MEMBERS]){sum_until_cut, sum_until_cut, sum_until_cut, sum_until_cut});
}

/* On record: operations of different keys are issued by threads in any order. */
TEST(threads_may_call_in_any_order)
{
    struct instance instances[INSTANCES];

    instances_open(instances, INSTANCES, LONG_MS);
    instances_run(instances, INSTANCES, all_sum_script);
    instances_expect_good(instances, INSTANCES);
    instances_close(instances, INSTANCES, false);
}

TEST(what_fails_in_one_thread_spoils_no_other)
{
    struct instance instances[INSTANCES];

    instances_open(instances, INSTANCES, LONG_MS);
    instances_run(instances, INSTANCES, some_fail_script);
    instances_expect_good(instances, INSTANCES);
    instances_run(instances, INSTANCES, meet_script);
    instances_expect_good(instances, INSTANCES);
    instances_run(instances, INSTANCES, late_script);
    instances_expect_good(instances, INSTANCES);
    instances_run(instances, INSTANCES, all_sum_script);
    instances_expect_good(instances, INSTANCES);
    instances_close(instances, INSTANCES, false);
}

TEST(when_data_stops_moving_every_thread_gets_an_error)
{
    struct instance instances[INSTANCES];

    instances_open(instances, INSTANCES, LONG_MS);
    instances_run(instances, INSTANCES, all_are_cut_script);
    for (uint32_t i = 0; i < INSTANCES; i++) {
        CHECK_INT_EQ(instances[i].row, MEMBERS);
        CHECK(instances[i].status == POPDIST_TIMEOUT || instances[i].status == POPDIST_BROKEN);
        CHECK_HAS(instances[i].error.text, "all-reduce \"key ");
    }
    instances_close(instances, INSTANCES, true);
}
