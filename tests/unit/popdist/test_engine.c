#include "popdist/src/engine/engine.h"

#include <string.h>

#include "base/core/mem.h"
#include "instances.h"
#include "lib/check.h"

/* Elements below, at and above what fits into a message; not divisible; more than a window of chunks. */
static const uint64_t sizes[] = {0, 1, 3, 512, 513, 20000, 131072 * 5 + 7};

static void reduce_script(struct instance *self)
{
    uint64_t count = sizes[self->row];
    AUTO(mem) float *data = mem_grow(NULL, count + 1, sizeof *data);

    for (uint64_t i = 0; i < count; i++)
        data[i] = (float)(self->index + 1) * (float)(i % 1000);
    data[count] = -1;
    self->status = instance_call(self, OPERATION_ALL_REDUCE, "sum", data, count, POPDIST_FLOAT, 0);
    for (uint64_t i = 0; i < count && !self->status; i++)
        if (data[i] < (float)(self->count * (self->count + 1) / 2) * (float)(i % 1000) ||
            data[i] > (float)(self->count * (self->count + 1) / 2) * (float)(i % 1000))
            self->status = instance_wrong(self, "a sum");
    if (data[count] > -1 || data[count] < -1)
        self->status = instance_wrong(self, "what stands behind the data");
}

static void broadcast_script(struct instance *self)
{
    uint64_t count = sizes[self->row];
    uint32_t root = self->count - 1;
    AUTO(mem) int32_t *data = mem_grow(NULL, count + 1, sizeof *data);

    for (uint64_t i = 0; i <= count; i++)
        data[i] = self->index == root ? (int32_t)i : -1;
    self->status = instance_call(self, OPERATION_BROADCAST, "weights", data, count, POPDIST_INT32, root);
    for (uint64_t i = 0; i < count; i++)
        if (data[i] != (int32_t)i)
            self->status = instance_wrong(self, "an element");
    if (self->index != root && data[count] != -1)
        self->status = instance_wrong(self, "what stands behind the data");
}

static void gather_script(struct instance *self)
{
    uint64_t count = sizes[self->row], all = count * self->count;
    AUTO(mem) uint16_t *data = mem_grow(NULL, all + 1, sizeof *data);

    memset(data, 0xff, (all + 1) * sizeof *data);
    for (uint64_t i = 0; i < count; i++)
        data[self->index * count + i] = (uint16_t)(self->index * 1000 + i % 1000);
    self->status = instance_call(self, OPERATION_ALL_GATHER, "parts", data, count, POPDIST_UINT16, 0);
    for (uint64_t i = 0; i < all; i++)
        if (data[i] != (uint16_t)(i / count * 1000 + i % count % 1000))
            self->status = instance_wrong(self, "an element");
    if (data[all] != 0xffff)
        self->status = instance_wrong(self, "what stands behind the data");
}

TEST(every_operation_moves_the_right_bytes)
{
    static const script_fn scripts[] = {reduce_script, broadcast_script, gather_script};

    for (uint32_t count = 2; count <= 5; count++) {
        struct instance instances[5];

        instances_open(instances, count, LONG_MS);
        for (size_t row = 0; row < COUNT_OF(sizes); row++) {
            for (size_t script = 0; script < COUNT_OF(scripts); script++) {
                for (uint32_t i = 0; i < count; i++)
                    instances[i].row = row;
                instances_run(instances, count, scripts[script]);
                instances_expect_good(instances, count);
            }
        }
        instances_close(instances, count, false);
    }
}

static void barriers_script(struct instance *self)
{
    self->status = POPDIST_OK;
    for (int i = 0; i < 300 && !self->status; i++)
        self->status = instance_call(self, OPERATION_BARRIER, "again", NULL, 0, POPDIST_INT8, 0);
}

TEST(a_key_may_be_used_again_and_again)
{
    struct instance instances[2];

    instances_open(instances, 2, LONG_MS);
    instances_run(instances, 2, barriers_script);
    instances_expect_good(instances, 2);
    instances_close(instances, 2, false);
}

static void mismatch_script(struct instance *self)
{
    float data[8] = {0};

    self->status = self->index == 2
                       ? instance_call(self, OPERATION_ALL_REDUCE, "grad", data, 4, POPDIST_HALF, 0)
                       : instance_call(self, OPERATION_ALL_REDUCE, "grad", data, 8, POPDIST_FLOAT, 0);
}

/* On record: Tensor layouts did not match on all instances is told on all of them. */
TEST(a_mismatch_is_reported_alike_on_all_instances)
{
    struct instance instances[3];

    instances_open(instances, 3, LONG_MS);
    for (int again = 0; again < 2; again++) {
        instances_run(instances, 3, mismatch_script);
        for (uint32_t i = 0; i < 3; i++) {
            CHECK_INT_EQ(instances[i].status, POPDIST_MISMATCH);
            CHECK_STR_EQ(
                instances[i].error.text,
                "Tensor layouts did not match on all instances: for \"grad\", instance 0 has all-reduce of "
                "float[8] and instance 2 has all-reduce of half[4]");
        }
    }
    instances_run(instances, 3, barriers_script);
    instances_expect_good(instances, 3);
    instances_close(instances, 3, false);
}

static void absent_script(struct instance *self)
{
    float data[2] = {1, 2};

    self->status = POPDIST_OK;
    if (self->index != 1 && self->index != 3)
        self->status = instance_call(self, OPERATION_ALL_REDUCE, "grad", data, 2, POPDIST_FLOAT, 0);
}

/* The late ones find that the others have given up, and then all goes on with the same key. */
static void late_script(struct instance *self)
{
    float data[2] = {1, 2};

    self->status = POPDIST_OK;
    if (self->index == 1 || self->index == 3)
        self->status = instance_call(self, OPERATION_ALL_REDUCE, "grad", data, 2, POPDIST_FLOAT, 0);
}

static void resume_script(struct instance *self)
{
    float data[2] = {1, 2};

    self->status = instance_call(self, OPERATION_ALL_REDUCE, "grad", data, 2, POPDIST_FLOAT, 0);
    if (!self->status && (data[0] < 4 || data[0] > 4))
        self->status = instance_wrong(self, "the sum");
}

TEST(the_missing_are_named_and_may_come_again)
{
    struct instance instances[4];

    instances_open(instances, 4, SHORT_MS);
    instances_run(instances, 4, absent_script);
    CHECK_INT_EQ(instances[0].status, POPDIST_TIMEOUT);
    CHECK_INT_EQ(instances[2].status, POPDIST_TIMEOUT);
    /* Of the two, one may have heard from the other that it gave up. */
    CHECK(
        strcmp(instances[0].error.text, "all-reduce \"grad\": instances 1, 3 did not join within 1 s") == 0 ||
        strcmp(instances[2].error.text, "all-reduce \"grad\": instances 1, 3 did not join within 1 s") == 0);
    instances_run(instances, 4, late_script);
    for (uint32_t i = 1; i < 4; i += 2) {
        CHECK_INT_EQ(instances[i].status, POPDIST_TIMEOUT);
        CHECK_HAS(instances[i].error.text, " timed out");
    }
    for (uint32_t i = 0; i < 4; i++)
        engine_set_timeout_ms(instances[i].engine, LONG_MS);
    instances_run(instances, 4, resume_script);
    instances_expect_good(instances, 4);
    instances_close(instances, 4, false);
}

static void large_script(struct instance *self)
{
    AUTO(mem) float *data = mem_grow(NULL, 100000, sizeof *data);

    memset(data, 0, 100000 * sizeof *data);
    self->status = instance_call(self, OPERATION_ALL_REDUCE, "big", data, 100000, POPDIST_FLOAT, 0);
}

TEST(data_that_stops_moving_ends_everything)
{
    struct instance instances[2];

    instances_open(instances, 2, SHORT_MS);
    inproc_cut(instances[0].world);
    instances_run(instances, 2, large_script);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK(instances[i].status == POPDIST_TIMEOUT);
        CHECK_HAS(instances[i].error.text, i ? "instance 0 " : "instance 1 ");
    }
    instances_run(instances, 2, barriers_script);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_INT_EQ(instances[i].status, POPDIST_BROKEN);
        CHECK_HAS(instances[i].error.text,
                  "collectives unavailable after an earlier error: all-reduce \"big\"");
    }
    instances_close(instances, 2, true);
}

/* The second instance ends while the first waits for it. */
static void end_early_script(struct instance *self)
{
    if (self->index == 0) {
        self->status = instance_call(self, OPERATION_BARRIER, "step", NULL, 0, POPDIST_INT8, 0);
        return;
    }
    self->status = engine_run_last(self->engine, self->all, &self->error);
    engine_stop(self->engine, "the end");
    engine_stop((self - 1)->engine, "the end");
}

TEST(a_last_call_does_not_wait_for_one_that_waits_and_a_stop_ends_what_waits)
{
    struct instance instances[2];

    instances_open(instances, 2, LONG_MS);
    instances_run(instances, 2, end_early_script);
    CHECK_INT_EQ(instances[1].status, POPDIST_MISUSE);
    CHECK_STR_EQ(instances[1].error.text,
                 "cannot finalize: instance 0 waits for this instance in barrier \"step\"");
    CHECK_INT_EQ(instances[0].status, POPDIST_BROKEN);
    CHECK_STR_EQ(instances[0].error.text, "barrier \"step\": the end");
    instances_close(instances, 2, true);
}

static void last_script(struct instance *self)
{
    self->status = engine_run_last(self->engine, self->all, &self->error);
}

static void skip_script(struct instance *self)
{
    self->status = POPDIST_OK;
    if (self->index != 2)
        self->status = instance_call(self, OPERATION_BARRIER, "skipped", NULL, 0, POPDIST_INT8, 0);
}

/* What one of them skipped no longer waits for it: the first gave up, and the second with it. */
TEST(the_last_calls_wait_for_each_other)
{
    struct instance instances[3];

    instances_open(instances, 3, SHORT_MS);
    engine_set_timeout_ms(instances[1].engine, LONG_MS);
    instances_run(instances, 3, skip_script);
    CHECK_INT_EQ(instances[0].status, POPDIST_TIMEOUT);
    CHECK_INT_EQ(instances[1].status, POPDIST_TIMEOUT);
    instances_run(instances, 3, barriers_script);
    instances_expect_good(instances, 3);
    instances_run(instances, 3, last_script);
    instances_expect_good(instances, 3);
    instances_close(instances, 3, false);
}
