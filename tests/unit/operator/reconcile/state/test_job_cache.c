#include "operator/reconcile/state/job_cache.h"

#include "base/core/mem.h"
#include "lib/check.h"

static int64_t wait_after(struct job_cache *cache, int64_t now_ms)
{
    job_cache_note_rejection(cache, 1, "QuotaExceeded", mem_strdup("none left"), now_ms);
    return cache->create_retry_at_ms - now_ms;
}

TEST(each_refused_try_waits_longer)
{
    static const int64_t most_ms[] = {10000, 20000, 40000, 80000, 120000, 120000};
    struct job_cache *cache = job_cache_new("ns/job", "uid");
    int64_t now_ms = 1000000;

    CHECK_ROWS (most, most_ms) {
        int64_t wait_ms = wait_after(cache, now_ms);

        CHECK(wait_ms <= *most && wait_ms >= *most / 4 * 3);
        CHECK_INT_EQ(wait_after(cache, now_ms + 1) + 1, wait_ms); /* another pod of the same try */
        now_ms = cache->create_retry_at_ms;
    }
    CHECK(wait_after(cache, now_ms + 600000) <= 10000);
    job_cache_free(cache);
}

TEST(a_pod_that_is_taken_does_not_hide_that_another_was_not)
{
    struct job_cache *cache = job_cache_new("ns/job", "uid");

    wait_after(cache, 1000000);
    job_cache_note_creation(cache, 1000001);
    CHECK(cache->create_rejected);
    job_cache_note_creation(cache, cache->create_retry_at_ms);
    CHECK(!cache->create_rejected);
    job_cache_free(cache);
}

TEST(a_refusal_is_about_the_runs_that_are_being_started)
{
    struct job_cache *cache = job_cache_new("ns/job", "uid");
    struct partition_cache *partition = job_cache_partition(cache, "p-job-ns-0", 0);

    cache->dry_run_generation = 1;
    job_cache_reject_starts(cache);
    CHECK(partition->is_rejected);
    CHECK_INT_EQ(cache->dry_run_generation, 0);
    partition_cache_note_launch(partition);
    CHECK(!partition->is_rejected);
    job_cache_reject_starts(cache);
    partition_cache_note_launch(partition);
    CHECK(partition->is_rejected); /* it is the launcher that was refused */
    partition_cache_begin_run(partition, 1, 0);
    CHECK(!partition->is_rejected);
    job_cache_free(cache);
}

TEST(a_server_that_fails_for_long_refuses)
{
    struct job_cache *cache = job_cache_new("ns/job", "uid");

    CHECK(!job_cache_note_outage(cache, OP_POD_CREATE, 1000000));
    CHECK(!job_cache_note_outage(cache, OP_POD_CREATE, 1009999));
    CHECK(job_cache_note_outage(cache, OP_POD_CREATE, 1010000));
    job_cache_note_success(cache, OP_SERVICE_CREATE);
    CHECK(job_cache_note_outage(cache, OP_POD_CREATE, 1010001));
    job_cache_note_success(cache, OP_POD_CREATE);
    CHECK(!job_cache_note_outage(cache, OP_POD_CREATE, 1020000));
    CHECK(!job_cache_note_outage(cache, OP_KEYS_CREATE, 1040000)); /* that is another one */
    job_cache_free(cache);
}
