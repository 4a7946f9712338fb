#include "operator/forecast/projection/picker.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "random_input.h"

static void check_same_log(const struct moment *a, const struct moment *b)
{
    CHECK_INT_EQ(a->log_count, b->log_count);
    for (uint32_t i = 0; i < a->log_count; i++) {
        const struct slot *s = &a->slots[a->log[i]], *t = &b->slots[b->log[i]];

        CHECK(s->source == t->source && s->instance == t->instance && s->controller == t->controller);
        CHECK(memcmp(&s->block, &t->block, sizeof(s->block)) == 0);
    }
    CHECK_INT_EQ(a->reserved_count, b->reserved_count);
    for (uint32_t i = 0; i < a->reserved_count; i++)
        CHECK(a->reserved[i].uid == b->reserved[i].uid && a->reserved[i].start_s == b->reserved[i].start_s);
}

static struct moment new_board(const struct random_input *r, const struct queue_order *queue, void **memory)
{
    struct moment b;

    *memory = mem_alloc(moment_lay_out(&b, &r->input, queue, NULL));
    moment_lay_out(&b, &r->input, queue, *memory);
    moment_init(&b);
    return b;
}

TEST(who_is_picked_is_who_would_start_if_all_were_asked)
{
    static struct random_input r;
    uint32_t starts = 0;

    for (uint64_t seed = 1; seed <= 2000; seed++) {
        AUTO(mem) void *queue_memory = NULL;
        AUTO(mem) void *picker_memory = NULL;
        void *memory[2];
        AUTO(mem) uint32_t *again = mem_alloc((RANDOM_CLAIMS + 1) * sizeof(*again));
        struct queue_order queue;
        struct moment all, picked;
        struct picker picker;

        random_input_init(&r, seed, seed % 4, (enum forecast_policy)(seed % 3));
        queue_memory = mem_alloc(queue_order_lay_out(&queue, &r.input, NULL));
        queue_order_lay_out(&queue, &r.input, queue_memory);
        queue_order_init(&queue, &r.input);
        all = new_board(&r, &queue, &memory[0]);
        picked = new_board(&r, &queue, &memory[1]);
        picker_memory = mem_alloc(picker_lay_out(&picker, &all, UINT32_MAX, NULL));
        picker_lay_out(&picker, &all, UINT32_MAX, picker_memory);
        picker_init(&picker, &all, UINT32_MAX);
        picker_restart(&picker);
        moment_begin(&all, 0);
        moment_begin(&picked, 0);
        moment_serve_line(&all, again);
        picker_serve(&picker, &picked);
        check_same_log(&all, &picked);
        starts += all.log_count;
        mem_free(memory[0]);
        mem_free(memory[1]);
    }
    CHECK(starts > 10000);
}
