#include "operator/kube/workqueue.h"

#include "base/core/mem.h"
#include "base/core/str.h"
#include "lib/check.h"

TEST(a_key_waits_once)
{
    struct workqueue *workqueue = workqueue_new();

    workqueue_add(workqueue, "n/a");
    workqueue_add(workqueue, "n/b");
    workqueue_add(workqueue, "n/a");
    CHECK_INT_EQ(workqueue_len(workqueue), 2);
    CHECK_STR_EQ(workqueue_get(workqueue, 0), "n/a");
    CHECK_STR_EQ(workqueue_get(workqueue, 0), "n/b");
    CHECK_STR_EQ(workqueue_get(workqueue, 0), NULL);
    CHECK_INT_EQ(workqueue_due_ms(workqueue, 0), -1);
    workqueue_free(workqueue);
}

TEST(a_taken_key_is_not_given_out_twice_but_runs_once_more)
{
    struct workqueue *workqueue = workqueue_new();

    workqueue_add(workqueue, "n/a");
    CHECK_STR_EQ(workqueue_get(workqueue, 0), "n/a");
    workqueue_add(workqueue, "n/a");
    workqueue_add(workqueue, "n/a");
    CHECK_STR_EQ(workqueue_get(workqueue, 0), NULL);
    workqueue_done(workqueue, "n/a");
    CHECK_STR_EQ(workqueue_get(workqueue, 0), "n/a");
    workqueue_done(workqueue, "n/a");
    CHECK_STR_EQ(workqueue_get(workqueue, 0), NULL);
    workqueue_free(workqueue);
}

TEST(the_earliest_time_wins)
{
    struct workqueue *workqueue = workqueue_new();

    workqueue_add_after(workqueue, "n/a", 300);
    workqueue_add_after(workqueue, "n/a", 100);
    workqueue_add_after(workqueue, "n/a", 200);
    CHECK_INT_EQ(workqueue_due_ms(workqueue, 0), 100);
    CHECK_STR_EQ(workqueue_get(workqueue, 99), NULL);
    CHECK_INT_EQ(workqueue_due_ms(workqueue, 100), 0);
    CHECK_STR_EQ(workqueue_get(workqueue, 100), "n/a");
    workqueue_done(workqueue, "n/a");
    CHECK_INT_EQ(workqueue_due_ms(workqueue, 100), -1); /* the other times are gone */
    workqueue_add_after(workqueue, "n/a", 300);
    workqueue_add(workqueue, "n/a");
    CHECK_STR_EQ(workqueue_get(workqueue, 0), "n/a");
    workqueue_done(workqueue, "n/a");
    CHECK_INT_EQ(workqueue_due_ms(workqueue, 0), -1); /* not delayed any more */
    workqueue_free(workqueue);
}

TEST(a_delay_that_ends_while_taken_waits_for_done)
{
    struct workqueue *workqueue = workqueue_new();

    workqueue_add(workqueue, "n/a");
    CHECK_STR_EQ(workqueue_get(workqueue, 0), "n/a");
    workqueue_add_after(workqueue, "n/a", 10);
    CHECK_STR_EQ(workqueue_get(workqueue, 20), NULL);
    CHECK_INT_EQ(workqueue_due_ms(workqueue, 20), -1);
    workqueue_done(workqueue, "n/a");
    CHECK_STR_EQ(workqueue_get(workqueue, 20), "n/a");
    workqueue_free(workqueue);
}

TEST(failures_back_off_per_key_until_forgotten)
{
    static const int64_t want[] = {5, 10, 20, 40, 80, 160};
    struct workqueue *workqueue = workqueue_new();

    for (size_t i = 0; i < COUNT_OF(want); i++)
        CHECK_INT_EQ(workqueue_add_rate_limited(workqueue, "n/a", 0, 0), want[i]);
    CHECK_INT_EQ(workqueue_add_rate_limited(workqueue, "n/b", 0, 0), 5);
    for (int i = 0; i < 100; i++)
        CHECK(workqueue_add_rate_limited(workqueue, "n/a", 0, 0) <= 120000);
    CHECK_INT_EQ(workqueue_add_rate_limited(workqueue, "n/a", 0, 0), 120000);
    workqueue_forget(workqueue, "n/a");
    CHECK_INT_EQ(workqueue_add_rate_limited(workqueue, "n/a", 0, 0), 5);
    workqueue_free(workqueue);
}

TEST(jitter_only_shortens)
{
    struct workqueue *workqueue = workqueue_new();

    for (uint32_t random = 0; random < 1000; random++) {
        int64_t delay_ms;

        workqueue_forget(workqueue, "n/a");
        for (int i = 0; i < 10; i++)
            workqueue_add_rate_limited(workqueue, "n/a", 0, 0);
        delay_ms = workqueue_add_rate_limited(workqueue, "n/a", 0, random * 4294967U);
        CHECK(delay_ms <= 5120 && delay_ms >= 3840);
    }
    workqueue_free(workqueue);
}

TEST(namespaces_take_turns)
{
    static const char *const want[] = {"a/1", "b/1", "c", "a/2", "b/2", "a/3", "a/4"};
    struct workqueue *workqueue = workqueue_new();

    workqueue_add(workqueue, "a/1");
    workqueue_add(workqueue, "a/2");
    workqueue_add(workqueue, "a/3");
    workqueue_add(workqueue, "a/4");
    workqueue_add(workqueue, "b/1");
    workqueue_add(workqueue, "b/2");
    workqueue_add(workqueue, "c");
    for (size_t i = 0; i < COUNT_OF(want); i++)
        CHECK_STR_EQ(workqueue_get(workqueue, 0), want[i]);
    workqueue_free(workqueue);
}

/* Against a plain model: whatever is done to it, a key is given out when and only when the model says so. */
TEST(it_agrees_with_a_plain_model)
{
    enum { KEYS = 12, STEPS = 20000 };
    struct {
        bool ready, taken, wanted;
        int64_t due; /* -1: none */
    } model[KEYS];
    struct workqueue *workqueue = workqueue_new();
    uint32_t random = 1;
    int64_t now = 0;

    for (int i = 0; i < KEYS; i++)
        model[i].ready = model[i].taken = model[i].wanted = false, model[i].due = -1;
    for (int n = 0; n < STEPS; n++) {
        random = random * 1664525U + 1013904223U;
        int i = (int)(random >> 8) % KEYS;
        AUTO(mem) char *key = mem_printf("n%d/k%d", i % 3, i);

        switch (random >> 29) {
        case 0:
        case 1:
            workqueue_add(workqueue, key);
            model[i].due = -1;
            *(model[i].taken ? &model[i].wanted : &model[i].ready) = true;
            break;
        case 2:
        case 3:
            workqueue_add_after(workqueue, key, now + (random >> 16) % 50);
            if (!model[i].ready && !model[i].wanted &&
                (model[i].due < 0 || model[i].due > now + (int64_t)((random >> 16) % 50)))
                model[i].due = now + (int64_t)((random >> 16) % 50);
            break;
        case 4:
            workqueue_forget(workqueue, key); /* which takes it from nowhere */
            break;
        case 5:
            workqueue_done(workqueue, key);
            if (model[i].taken && model[i].wanted)
                model[i].ready = true;
            if (model[i].taken)
                model[i].taken = model[i].wanted = false;
            break;
        default: {
            const char *got = workqueue_get(workqueue, ++now);
            size_t ready = 0;

            for (int k = 0; k < KEYS; k++) {
                if (model[k].due >= 0 && model[k].due <= now) {
                    *(model[k].taken ? &model[k].wanted : &model[k].ready) = true;
                    model[k].due = -1;
                }
                ready += model[k].ready;
            }
            if (got == NULL) {
                CHECK_INT_EQ(ready, 0);
                break;
            }
            for (int k = 0; k < KEYS; k++) {
                AUTO(mem) char *name = mem_printf("n%d/k%d", k % 3, k);

                if (!str_eq(name, got))
                    continue;
                CHECK(model[k].ready && !model[k].taken);
                model[k].ready = false;
                model[k].taken = true;
            }
            CHECK_INT_EQ(workqueue_len(workqueue), ready - 1);
        }
        }
    }
    workqueue_free(workqueue);
}
