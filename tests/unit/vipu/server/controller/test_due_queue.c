/* The timers of partitions, against a search through all of them. */
#include "lib/check.h"

#include "vipu/server/controller/due_queue.h"

#define COUNT 50u

static const struct controller_partition *earliest(const struct controller_partition *all, const bool *is_in)
{
    const struct controller_partition *first = NULL;

    for (size_t i = 0; i < COUNT; i++)
        if (is_in[i] && (!first || all[i].due_ms < first->due_ms ||
                         (all[i].due_ms == first->due_ms && all[i].number < first->number)))
            first = &all[i];
    return first;
}

TEST(the_earliest_is_always_first)
{
    struct controller_partition all[COUNT] = {0};
    bool is_in[COUNT] = {0};
    struct due_queue queue = {0};
    uint64_t seed = 5;

    for (size_t i = 0; i < COUNT; i++)
        all[i].number = i;
    for (int round = 0; round < 20000; round++) {
        size_t i;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        i = (seed >> 33) % COUNT;
        is_in[i] = seed >> 60 & 1;
        if (is_in[i]) {
            all[i].due_ms = (int64_t)(seed >> 40 & 63);
            due_queue_put(&queue, &all[i]);
        } else {
            due_queue_remove(&queue, &all[i]);
        }
        CHECK(due_queue_first(&queue) == earliest(all, is_in));
    }
    due_queue_release(&queue);
    CHECK(due_queue_first(&queue) == NULL);
}
