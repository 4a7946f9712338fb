#include "operator/reconcile/state/job_cache.h"

#include "base/core/mem.h"
#include "lib/check.h"

static int64_t wait_after(struct job_memory *memory, int64_t now_ms)
{
    memory_note_refusal(memory, 1, "QuotaExceeded", mem_strdup("none left"), now_ms);
    return memory->create_retry_at_ms - now_ms;
}

TEST(each_refused_try_waits_longer)
{
    static const int64_t most_ms[] = {10000, 20000, 40000, 80000, 120000, 120000};
    struct job_memory *memory = memory_new("ns/job", "uid");
    int64_t now_ms = 1000000;

    CHECK_ROWS (most, most_ms) {
        int64_t wait_ms = wait_after(memory, now_ms);

        CHECK(wait_ms <= *most && wait_ms >= *most / 4 * 3);
        CHECK_INT_EQ(wait_after(memory, now_ms + 1) + 1, wait_ms); /* another pod of the same try */
        now_ms = memory->create_retry_at_ms;
    }
    CHECK(wait_after(memory, now_ms + 600000) <= 10000);
    memory_free(memory);
}

TEST(a_pod_that_is_taken_does_not_hide_that_another_was_not)
{
    struct job_memory *memory = memory_new("ns/job", "uid");

    wait_after(memory, 1000000);
    memory_note_creation(memory, 1000001);
    CHECK(memory->create_refused);
    memory_note_creation(memory, memory->create_retry_at_ms);
    CHECK(!memory->create_refused);
    memory_free(memory);
}

TEST(a_refusal_is_about_the_runs_that_are_being_started)
{
    struct job_memory *memory = memory_new("ns/job", "uid");
    struct part_memory *part = memory_part(memory, "p-job-ns-0", 0);

    memory->dry_run_generation = 1;
    memory_refuse_starts(memory);
    CHECK(part->is_refused);
    CHECK_INT_EQ(memory->dry_run_generation, 0);
    part_note_launch(part);
    CHECK(!part->is_refused);
    memory_refuse_starts(memory);
    part_note_launch(part);
    CHECK(part->is_refused); /* it is the launcher that was refused */
    part_begin_run(part, 1, 0);
    CHECK(!part->is_refused);
    memory_free(memory);
}

TEST(a_server_that_fails_for_long_refuses)
{
    struct job_memory *memory = memory_new("ns/job", "uid");

    CHECK(!memory_note_outage(memory, OP_POD_CREATE, 1000000));
    CHECK(!memory_note_outage(memory, OP_POD_CREATE, 1009999));
    CHECK(memory_note_outage(memory, OP_POD_CREATE, 1010000));
    memory_note_success(memory, OP_SERVICE_CREATE);
    CHECK(memory_note_outage(memory, OP_POD_CREATE, 1010001));
    memory_note_success(memory, OP_POD_CREATE);
    CHECK(!memory_note_outage(memory, OP_POD_CREATE, 1020000));
    CHECK(!memory_note_outage(memory, OP_KEYS_CREATE, 1040000)); /* that is another one */
    memory_free(memory);
}
