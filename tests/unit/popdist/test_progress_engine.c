/* Random histories on virtual time: every instance calls the same operations in an order of its own, several
 * at a time, and the instances take turns by chance. */
#include "popdist/src/core/progress_engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "inproc.h"
#include "lib/check.h"

#define INSTANCES_MAX 4
#define CALLS 12
#define SEEDS 300
#define STEPS_MAX 200000
#define ELEMENTS_MAX 1500

struct operation_plan {
    char key[8];
    struct layout layout;
};

struct one {
    struct call call;
    struct match_announcement *from[INSTANCES_MAX];
    uint32_t data[ELEMENTS_MAX * INSTANCES_MAX];
    struct popdist_error error;
    bool begun, ended;
};

struct instance {
    struct progress_engine progress_engine;
    struct group *all;
    uint32_t index;
    uint32_t order[CALLS];
    uint32_t next, open; /* which of the order comes next; how many are under way */
    int64_t busy_ms;     /* until when it begins nothing */
    struct one calls[CALLS];
};

struct world {
    struct inproc *carrier;
    uint64_t random;
    uint32_t count;
    uint32_t absent; /* this instance leaves out the operation `left_out`; count: nobody does */
    uint32_t left_out;
    bool is_late; /* each may be late for any operation: by about the time limit */
    int64_t now_ms, timeout_ms;
    struct operation_plan plan[CALLS];
    struct instance instances[INSTANCES_MAX];
};

static uint32_t roll(struct world *world, uint32_t sides)
{
    world->random ^= world->random << 13;
    world->random ^= world->random >> 7;
    world->random ^= world->random << 17;
    return (uint32_t)((world->random >> 20) % sides);
}

static void on_ended(void *owner, struct call *call)
{
    struct instance *instance = owner;

    ((struct one *)call)->ended = true;
    instance->open--;
}

static void plan_operations(struct world *world)
{
    static const uint32_t counts[] = {0, 1, 5, 512, 513, ELEMENTS_MAX};

    for (uint32_t i = 0; i < CALLS; i++) {
        struct operation_plan *plan = &world->plan[i];

        /* Some keys come twice; uses of a key keep their order on all instances. */
        (void)snprintf(plan->key, sizeof plan->key, "a/k%u", i / 2);
        plan->layout = (struct layout){.operation = (enum operation)roll(world, OPERATION_REGISTER),
                                       .type = POPDIST_UINT32,
                                       .count = counts[roll(world, COUNT_OF(counts))]};
        if (plan->layout.operation == OPERATION_BROADCAST)
            plan->layout.root = roll(world, world->count);
        if (plan->layout.operation == OPERATION_BARRIER)
            plan->layout.count = 0;
    }
}

/* Any order but that of the two uses of a key. */
static void shuffle(struct world *world, struct instance *instance)
{
    for (uint32_t i = 0; i < CALLS; i++)
        instance->order[i] = i;
    for (uint32_t i = 0; i < 3 * CALLS; i++) {
        uint32_t at = roll(world, CALLS - 1), one = instance->order[at], other = instance->order[at + 1];

        if (one / 2 != other / 2) {
            instance->order[at] = other;
            instance->order[at + 1] = one;
        }
    }
}

static uint32_t value(uint32_t instance, uint32_t operation, uint64_t element)
{
    return instance * 1000003 + operation * 101 + (uint32_t)element;
}

static void fill(struct instance *instance, uint32_t operation, const struct layout *layout)
{
    struct one *one = &instance->calls[operation];
    uint64_t begin = layout->operation == OPERATION_ALL_GATHER ? instance->index * layout->count : 0;

    for (uint64_t i = 0; i < layout->count; i++)
        one->data[begin + i] = value(instance->index, operation, i);
}

static void begin(struct world *world, struct instance *instance)
{
    uint32_t operation = instance->order[instance->next++];
    const struct operation_plan *plan = &world->plan[operation];
    struct one *one = &instance->calls[operation];
    struct popdist_error error;

    if (instance->index == world->absent && operation == world->left_out)
        return;
    if (world->is_late && roll(world, 3) == 0)
        instance->busy_ms = world->now_ms + roll(world, 2 * (uint32_t)world->timeout_ms);
    fill(instance, operation, &plan->layout);
    one->begun = true;
    one->call.layout = plan->layout;
    one->call.subject = plan->key;
    one->call.data = one->data;
    one->call.error = &one->error;
    one->call.match_op = (struct match_op){
        .key = plan->key, .key_size = strlen(plan->key), .group = instance->all, .from = one->from};
    instance->open++;
    if (progress_engine_begin(&instance->progress_engine, &one->call, world->now_ms, world->timeout_ms,
                              &error))
        CHECK_FAIL("%s", error.text);
}

static bool is_over(const struct world *world)
{
    for (uint32_t i = 0; i < world->count; i++)
        if (world->instances[i].next < CALLS || world->instances[i].open)
            return false;
    return true;
}

static void play(struct world *world)
{
    for (uint32_t step = 0; !is_over(world); step++) {
        struct instance *instance = &world->instances[roll(world, world->count)];

        if (step == STEPS_MAX)
            CHECK_FAIL("not over after %d steps", STEPS_MAX);
        /* Any number may be open: a limit would be a lack of threads, and instances could wait in a circle.
         */
        if (instance->next < CALLS && world->now_ms >= instance->busy_ms && roll(world, 4) == 0)
            begin(world, instance);
        (void)progress_engine_poll(&instance->progress_engine, world->now_ms);
        world->now_ms++;
    }
    /* What is still on its way. */
    for (uint32_t round = 0; round < 1000; round++)
        (void)progress_engine_poll(&world->instances[round % world->count].progress_engine, world->now_ms);
}

static uint32_t wanted(const struct world *world, uint32_t operation, uint64_t element)
{
    const struct layout *layout = &world->plan[operation].layout;
    uint32_t sum = 0;

    if (layout->operation == OPERATION_BROADCAST)
        return value(layout->root, operation, element);
    if (layout->operation == OPERATION_ALL_GATHER)
        return value((uint32_t)(element / layout->count), operation, element % layout->count);
    for (uint32_t i = 0; i < world->count; i++)
        sum += value(i, operation, element);
    return sum;
}

static void check_result(const struct world *world, const struct instance *instance, uint32_t operation)
{
    const struct layout *layout = &world->plan[operation].layout;
    const struct one *one = &instance->calls[operation];
    uint64_t count = layout->operation == OPERATION_ALL_GATHER ? layout->count * world->count : layout->count;

    if (one->call.status)
        CHECK_FAIL("instance %u of %u: %s", instance->index, world->count, one->error.text);
    for (uint64_t i = 0; i < count; i++)
        if (one->data[i] != wanted(world, operation, i))
            CHECK_FAIL("element %" PRIu64 " of operation %u is wrong on instance %u", i, operation,
                       instance->index);
}

static void check_all(const struct world *world)
{
    for (uint32_t i = 0; i < world->count; i++) {
        const struct instance *instance = &world->instances[i];

        for (uint32_t operation = 0; operation < CALLS; operation++) {
            const struct one *one = &instance->calls[operation];

            CHECK(one->begun == one->ended);
            if (world->absent == world->count || operation != world->left_out)
                check_result(world, instance, operation);
        }
    }
}

/* Nobody can have seen all of it. */
static void check_left_out(const struct world *world)
{
    for (uint32_t i = 0; i < world->count; i++)
        if (i != world->absent)
            CHECK_INT_EQ(world->instances[i].calls[world->left_out].call.status, POPDIST_TIMEOUT);
}

/* Each operation ends alike on all instances: with its result, or with the error that some came late. Returns
 * how many ended with an error. */
static uint32_t check_alike(const struct world *world)
{
    uint32_t failed = 0;

    for (uint32_t operation = 0; operation < CALLS; operation++) {
        enum popdist_status status = world->instances[0].calls[operation].call.status;

        CHECK(status == POPDIST_OK || status == POPDIST_TIMEOUT);
        failed += status == POPDIST_TIMEOUT;
        for (uint32_t i = 0; i < world->count; i++) {
            const struct one *one = &world->instances[i].calls[operation];

            if (one->call.status != status)
                CHECK_FAIL("operation %u: instance 0 has status %d, but instance %u: %s", operation, status,
                           i, one->call.status ? one->error.text : "good");
            if (!status)
                check_result(world, &world->instances[i], operation);
        }
    }
    return failed;
}

enum kind { PUNCTUAL, ABSENT, LATE };

static uint32_t run(uint64_t seed, enum kind kind)
{
    struct world *world = mem_alloc(sizeof *world);
    bool absent = kind == ABSENT;
    uint32_t failed = 0;

    world->random = seed * 0x9e3779b97f4a7c15U + 1;
    world->count = 2 + roll(world, INSTANCES_MAX - 1);
    world->carrier = inproc_new(world->count);
    world->absent = absent ? roll(world, world->count) : world->count;
    world->left_out = CALLS - 1; /* the last use of its key, so that no other is taken for it */
    world->is_late = kind == LATE;
    world->timeout_ms = kind == PUNCTUAL ? STEPS_MAX : kind == LATE ? 500 : 5000;
    plan_operations(world);
    for (uint32_t i = 0; i < world->count; i++) {
        struct instance *instance = &world->instances[i];
        struct link link = inproc_link(world->carrier, i);

        instance->index = i;
        CHECK_INT_EQ(group_new("all", NULL, world->count, i, &instance->all, NULL), POPDIST_OK);
        CHECK_INT_EQ(progress_engine_init(&instance->progress_engine, &link, on_ended, instance, NULL),
                     POPDIST_OK);
        shuffle(world, instance);
    }
    play(world);
    if (kind == LATE)
        failed = check_alike(world);
    else
        check_all(world);
    if (absent)
        check_left_out(world);
    for (uint32_t i = 0; i < world->count; i++) {
        for (uint32_t operation = 0; operation < CALLS; operation++)
            exchange_release(&world->instances[i].calls[operation].call.exchange);
        progress_engine_release(&world->instances[i].progress_engine);
        group_free(world->instances[i].all);
    }
    inproc_free(world->carrier);
    mem_free(world);
    return failed;
}

TEST(all_operations_end_well_in_any_order)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        (void)run(seed, PUNCTUAL);
}

TEST(who_leaves_one_out_spoils_no_other)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        (void)run(seed, ABSENT);
}

/* Messages of late ones and of those that give up cross in every way. */
TEST(a_late_one_fails_or_succeeds_with_all_others)
{
    uint32_t failed = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        failed += run(seed, LATE);
    CHECK(failed > SEEDS && failed < SEEDS * CALLS);
}

static void begin_barrier(struct instance *instance, uint32_t operation, const char *key)
{
    struct one *one = &instance->calls[operation];

    one->call.layout = (struct layout){.operation = OPERATION_BARRIER, .type = POPDIST_INT8};
    one->call.subject = key;
    one->call.error = &one->error;
    one->call.match_op =
        (struct match_op){.key = key, .key_size = strlen(key), .group = instance->all, .from = one->from};
    CHECK_INT_EQ(progress_engine_begin(&instance->progress_engine, &one->call, 0, 500, &one->error),
                 POPDIST_OK);
    one->call.tag = 1;
}

static void send_vote(const struct link *from, const char *key)
{
    struct wire_message message = {.kind = WIRE_VOTE_YES, .tag = 1, .key = key, .key_size = strlen(key)};
    char bytes[WIRE_MAX];
    struct popdist_request request;
    bool done = false;

    wire_write(&message, bytes);
    CHECK_INT_EQ(from->backend->send(from->self, 0, 0, bytes, wire_size(&message), &request, NULL),
                 POPDIST_OK);
    CHECK_INT_EQ(from->backend->test(from->self, &request, &done, NULL), POPDIST_OK);
    CHECK(done);
}

/* A call that waits for long, and one that has got the same tag since. */
TEST(a_vote_counts_for_the_call_with_its_key)
{
    struct inproc *carrier = inproc_new(2);
    struct link link = inproc_link(carrier, 0), other = inproc_link(carrier, 1);
    struct instance *instance = mem_alloc(sizeof *instance);

    CHECK_INT_EQ(group_new("all", NULL, 2, 0, &instance->all, NULL), POPDIST_OK);
    CHECK_INT_EQ(progress_engine_init(&instance->progress_engine, &link, on_ended, instance, NULL),
                 POPDIST_OK);
    begin_barrier(instance, 0, "old");
    begin_barrier(instance, 1, "new");
    (void)progress_engine_poll(&instance->progress_engine, 500);
    send_vote(&other, "old");
    (void)progress_engine_poll(&instance->progress_engine, 501);
    CHECK(instance->calls[0].ended);
    CHECK_INT_EQ(instance->calls[0].call.status, POPDIST_TIMEOUT);
    CHECK(!instance->calls[1].ended);
    send_vote(&other, "new");
    (void)progress_engine_poll(&instance->progress_engine, 502);
    CHECK(instance->calls[1].ended);
    progress_engine_release(&instance->progress_engine);
    group_free(instance->all);
    mem_free(instance);
    inproc_free(carrier);
}
