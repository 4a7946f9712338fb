#include "operator/reconcile/state/job_cache.h"

#include "base/core/mem.h"
#include "lib/check.h"

static int64_t wait_after(struct job_cache *cache, int64_t now_ms)
{
    job_cache_note_rejection(cache, 1, "QuotaExceeded", mem_strdup("none left"), now_ms);
    return cache->create_retry_at_ms - now_ms;
}

TEST(each_rejected_try_waits_longer)
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

TEST(a_rejection_is_about_the_runs_that_are_being_started)
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
    CHECK(partition->is_rejected); /* it is the launcher that was rejected */
    partition_cache_begin_run(partition, 1, 0);
    CHECK(!partition->is_rejected);
    job_cache_free(cache);
}

TEST(a_server_that_fails_for_long_rejects)
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

/* ---- starts that gave their IPUs up ---- */

static int64_t wait_after_requeue(struct job_cache *cache, int64_t generation, int64_t now_ms)
{
    struct partition_cache *partition = job_cache_partition(cache, "p-job-ns-0", 0);

    partition_cache_begin_run(partition, partition->run + 1, now_ms);
    partition->offered_for = "ImagePullFailed";
    job_cache_note_requeue(cache, generation, partition, mem_strdup("no such image"), now_ms, now_ms / 1000);
    CHECK(partition->is_given_up && cache->create_rejected);
    CHECK_STR_EQ(cache->create_reason, "ImagePullFailed");
    return cache->create_retry_at_ms - now_ms;
}

TEST(each_start_in_vain_waits_longer_until_one_begins)
{
    static const int64_t most_ms[] = {10000, 20000, 40000, 80000, 120000, 120000};
    struct job_cache *cache = job_cache_new("ns/job", "uid");
    int64_t now_ms = 1000000;
    unsigned tries = 0;

    CHECK_ROWS (most, most_ms) {
        int64_t wait_ms = wait_after_requeue(cache, 1, now_ms);

        CHECK(wait_ms <= *most && wait_ms >= *most / 4 * 3);
        CHECK_INT_EQ(cache->requeues, ++tries);
        CHECK_INT_EQ(wait_after_requeue(cache, 1, now_ms + 1) + 1, wait_ms); /* another instance of the try */
        CHECK_INT_EQ(cache->requeues, tries);
        now_ms = cache->create_retry_at_ms + 3600000; /* in the queue */
        job_cache_note_creation(cache, now_ms);       /* pods, which are not enough */
        CHECK(cache->create_rejected);
    }
    job_cache_note_start(cache, cache->create_retry_at_ms - 1); /* of an instance that ran on */
    CHECK(cache->create_rejected);
    job_cache_note_start(cache, now_ms);
    CHECK(!cache->create_rejected);
    CHECK(wait_after_requeue(cache, 1, now_ms) <= 10000);
    CHECK(wait_after_requeue(cache, 2, now_ms + 1) <= 10000); /* of another template */
    CHECK_INT_EQ(cache->requeues, 1);
    job_cache_free(cache);
}

/* Else enough jobs that cannot start could take turns forever. */
TEST(a_job_keeps_its_age_for_three_starts_in_vain)
{
    static const int64_t since_s[] = {500, 500, 500, 1300, 1400};
    struct job_cache *cache = job_cache_new("ns/job", "uid");
    int64_t now_ms = 1000000;

    CHECK_INT_EQ(job_cache_queued_since_s(cache, 500), 500);
    CHECK_ROWS (expected, since_s) {
        now_ms = cache->requeues ? now_ms + 100000 : now_ms;
        cache->create_retry_at_ms = now_ms;
        wait_after_requeue(cache, 1, now_ms);
        CHECK_INT_EQ(job_cache_queued_since_s(cache, 500), *expected);
    }
    job_cache_free(cache);
}

TEST(a_new_process_reads_starts_in_vain_from_the_status)
{
    static const struct {
        const char *status;
        unsigned requeues;
        int64_t waits_at_most_ms;
        bool is_rejected;
    } rows[] = {
        {"{}", 0, 0, false},
        {"{\"observedGeneration\":1,\"startFailure\":{\"reason\":\"ImagePullFailed\",\"message\":\"m\","
         "\"tries\":4,"
         "\"time\":\"1970-01-01T00:16:30Z\"}}",
         4, 70000, true},
        {"{\"observedGeneration\":1,\"startFailure\":{\"reason\":\"FailedCreate\",\"message\":\"m\","
         "\"tries\":0}}",
         0, 70000, true},
        {"{\"observedGeneration\":2,\"startFailure\":{\"reason\":\"ImagePullFailed\",\"tries\":4}}", 0, 0,
         false},
        {"{\"observedGeneration\":1,\"startFailure\":{\"reason\":\"Guessed\",\"tries\":4}}", 0, 0, false},
        {"{\"observedGeneration\":1,\"startFailure\":{\"reason\":\"ImagePullFailed\",\"tries\":-1}}", 0, 0,
         false},
        {"{\"observedGeneration\":1,\"startFailure\":{\"reason\":\"ImagePullFailed\",\"tries\":1e30}}", 0, 0,
         false},
        {"{\"observedGeneration\":1,\"startFailure\":[]}", 0, 0, false},
    };

    CHECK_ROWS (row, rows) {
        struct job_cache *cache = job_cache_new("ns/job", "uid");
        struct err err = {0};
        AUTO(json) cJSON *status = json_parse(slice_of(row->status), &err);

        job_cache_recall_status(cache, 1, status, 5000000, 1000);
        CHECK_INT_EQ(cache->requeues, row->requeues);
        CHECK_INT_EQ(cache->create_rejected, row->is_rejected);
        CHECK(cache->create_retry_at_ms - 5000000 <= row->waits_at_most_ms);
        job_cache_recall_status(cache, 1, NULL, 5000000, 1000); /* what it knows itself is newer */
        CHECK_INT_EQ(cache->requeues, row->requeues);
        job_cache_free(cache);
    }
}

/* An admin of a namespace may write the status; the queue is that of all namespaces. */
TEST(no_status_makes_a_job_older_in_the_queue)
{
    static const char text[] = "{\"observedGeneration\":1,\"startFailure\":{\"reason\":\"ImagePullFailed\","
                               "\"tries\":4,\"time\":\"0001-01-01T00:00:00Z\"},"
                               "\"queue\":{\"since\":\"0001-01-01T00:00:00Z\"}}";
    struct err err = {0};
    AUTO(json) cJSON *status = json_parse(slice_of(text), &err);
    struct job_cache *cache = job_cache_new("ns/job", "uid");

    CHECK_OK(status, err);
    job_cache_recall_status(cache, 1, status, 5000000, 1000);
    CHECK_INT_EQ(cache->requeues, 4);
    CHECK_INT_EQ(job_cache_queued_since_s(cache, 500), 500);
    cache->created_s = 500;
    cache->takes_turns = true;
    CHECK_INT_EQ(job_cache_turn_s(cache), 500);
    job_cache_free(cache);
}

TEST(a_new_process_reads_the_turn_of_a_job_from_the_status)
{
    static const struct {
        const char *status;
        int64_t recorded_s, turn_s;
    } rows[] = {
        {"{}", 0, 500},
        {"{\"queue\":{\"since\":\"1970-01-01T00:15:00Z\"}}", 0, 900},
        {"{\"queue\":{\"since\":\"1970-01-01T00:15:00Z\"}}", 950, 950},
        {"{\"queue\":{\"since\":\"1970-01-01T00:05:00Z\"}}", 0, 500},
        {"{\"queue\":{\"since\":\"9999-12-31T23:59:59Z\"}}", 0, 1000},
        {"{\"queue\":{\"since\":\"soon\"}}", 700, 700},
        {"{\"queue\":{\"since\":900}}", 700, 700},
        {"{\"queue\":[]}", 700, 700},
        {"{\"queuedSince\":\"1970-01-01T00:15:00Z\"}", 0, 900},
    };

    CHECK_ROWS (row, rows) {
        struct job_cache *cache = job_cache_new("ns/job", "uid");
        struct err err = {0};
        AUTO(json) cJSON *status = json_parse(slice_of(row->status), &err);

        cache->created_s = 500;
        cache->takes_turns = true;
        cache->served_s = row->recorded_s;
        job_cache_recall_status(cache, 1, status, 5000000, 1000);
        CHECK_INT_EQ(job_cache_turn_s(cache), row->turn_s);
        job_cache_note_rejection(cache, 1, "FailedCreate", NULL, 5000000);
        job_cache_recall_status(cache, 1, status, 5000000, 1000); /* what it knows itself is newer */
        CHECK_INT_EQ(job_cache_turn_s(cache), 500);
        job_cache_free(cache);
    }
}

/* Others rely on the earlier of both ends. */
TEST(ipus_are_released_by_the_limit_with_which_they_were_granted)
{
    static const struct {
        uint32_t limit_s, grace_s, kept_s, kept_grace_s;
        int64_t end_s;
    } rows[] = {
        {0, 30, 0, 0, FORECAST_UNKNOWN}, {600, 30, 0, 0, 1690},    {600, 30, 60, 30, 1150},
        {60, 30, 600, 30, 1150},         {60, 3000, 60, 30, 1150}, {0, 30, 60, 30, 1150},
    };

    CHECK_ROWS (row, rows) {
        struct record record = {.created_s = 1000, .limit_s = row->kept_s, .grace_s = row->kept_grace_s};
        struct job_cache *cache = job_cache_new("ns/job", "uid");

        cache->limit_s = row->limit_s;
        cache->grace_s = row->grace_s;
        CHECK_INT_EQ(job_cache_kept_end_s(cache, &record), row->end_s);
        job_cache_free(cache);
    }
}

/* Else placeholders would be first in the queue whenever their owner likes. */
TEST(the_age_of_a_job_counts_from_when_it_was_resumed)
{
    static const struct {
        bool is_idle;
        int64_t now_s, turn_s;
    } rows[] = {
        {false, 600, 500}, {false, 601, 500}, {true, 602, 500}, {true, 603, 500},
        {false, 604, 604}, {false, 605, 604}, {true, 606, 604}, {false, 607, 607},
    };
    struct job_cache *cache = job_cache_new("ns/job", "uid");

    cache->created_s = 500;
    CHECK_ROWS (row, rows) {
        job_cache_note_idle(cache, row->is_idle, row->now_s);
        CHECK_INT_EQ(job_cache_turn_s(cache), row->turn_s);
    }
    cache->requeues = 4;
    cache->requeued_s = 606;
    CHECK_INT_EQ(job_cache_turn_s(cache), 607);
    cache->requeued_s = 650;
    CHECK_INT_EQ(job_cache_turn_s(cache), 650);
    job_cache_free(cache);
}

static int64_t turn_read_from(struct job_cache *cache, const char *text, int64_t now_s)
{
    struct err err = {0};
    AUTO(json) cJSON *status = json_parse(slice_of(text), &err);

    CHECK_OK(status, err);
    job_cache_recall_status(cache, 2, status, 5000000, now_s);
    job_cache_note_idle(cache, false, now_s);
    return job_cache_turn_s(cache);
}

#define SUSPENDED "{\"launcherStatus\":\"Suspended\",\"reason\":\"Suspended\"}"
#define SINCE(time)                                                                                          \
    "{\"launcherStatus\":\"Pending\",\"reason\":\"Queued\",\"queue\":{\"since\":\"" time "\"}}"

TEST(a_new_process_reads_the_turn_of_a_resumed_job)
{
    static const struct {
        const char *status, *next;
        int64_t turn_s, next_turn_s;
    } rows[] = {
        {"{\"launcherStatus\":\"Running\"}", SUSPENDED, 500, 500}, /* what it knows itself is newer */
        {SINCE("1970-01-01T00:15:00Z"), SUSPENDED, 900, 900},
        {SINCE("1970-01-01T00:05:00Z"), SUSPENDED, 500, 500},
        {SINCE("9999-12-31T23:59:59Z"), SUSPENDED, 1000, 1000},
        {"{\"launcherStatus\":\"Running\",\"queuedSince\":\"1970-01-01T00:15:00Z\"}", SUSPENDED, 900, 900},
        {SUSPENDED, SUSPENDED, 1000, 1000},
        {SUSPENDED, SINCE("1970-01-01T00:15:00Z"), 1000, 900}, /* of the previous process */
        {SUSPENDED, "{\"launcherStatus\":\"Starting\"}", 1000, 1000},
        {"{\"launcherStatus\":\"Pending\",\"reason\":\"ScaledToZero\"}", SUSPENDED, 1000, 1000},
        {"{\"launcherStatus\":[],\"queue\":7}", SUSPENDED, 500, 500},
    };

    CHECK_ROWS (row, rows) {
        struct job_cache *cache = job_cache_new("ns/job", "uid");

        cache->created_s = 500;
        CHECK_INT_EQ(turn_read_from(cache, row->status, 1000), row->turn_s);
        CHECK_INT_EQ(turn_read_from(cache, row->next, 1001), row->next_turn_s);
        job_cache_free(cache);
    }
}
