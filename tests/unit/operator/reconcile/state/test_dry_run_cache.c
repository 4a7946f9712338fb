#include "operator/reconcile/state/dry_run_cache.h"

#include "lib/check.h"

#define NOW_MS 1000000

static struct dry_run_result rejected(void)
{
    return (struct dry_run_result){.reason = "QuotaExceeded", .text = "none left"};
}

TEST(like_jobs_wait_for_one_answer)
{
    struct job first = {.ns = "ns", .key = "ns/first", .revision = 7};
    struct job second = {.ns = "ns", .key = "ns/second", .revision = 7};
    struct job other = {.ns = "ns", .key = "ns/other", .revision = 8};
    struct dry_run_cache cache = {0};
    AUTO(mem) char *fingerprint = dry_run_cache_key(&first);
    AUTO(strv) struct strv waiting = {0};
    struct dry_run_result no = rejected();

    CHECK(dry_run_cache_begin(&cache, &first));
    CHECK(!dry_run_cache_begin(&cache, &second));
    CHECK(dry_run_cache_begin(&cache, &other));
    CHECK(!dry_run_cache_get(&cache, &second, NOW_MS));
    dry_run_cache_complete(&cache, fingerprint, &no, NOW_MS, &waiting);
    CHECK_INT_EQ(waiting.count, 1);
    CHECK_STR_EQ(waiting.items[0], "ns/second");
    CHECK_STR_EQ(dry_run_cache_get(&cache, &second, NOW_MS)->text, "none left");
    CHECK(!dry_run_cache_get(&cache, &other, NOW_MS));
    CHECK(!dry_run_cache_get(&cache, &second, NOW_MS + DRY_RUN_VALID_MS));
    dry_run_cache_release(&cache);
}

TEST(rejected_templates_are_asked_about_more_and_more_seldom)
{
    static const int64_t most_ms[] = {10000, 20000, 40000, 80000, 120000, 120000};
    struct job job = {.ns = "ns", .key = "ns/job", .revision = 7};
    struct dry_run_cache cache = {0};
    AUTO(mem) char *fingerprint = dry_run_cache_key(&job);
    struct dry_run_result yes = {.priority = 3};
    int64_t now_ms = NOW_MS;

    CHECK_ROWS (most, most_ms) {
        AUTO(strv) struct strv waiting = {0};
        struct dry_run_result no = rejected();
        int64_t delay_ms;

        CHECK(dry_run_cache_begin(&cache, &job));
        dry_run_cache_complete(&cache, fingerprint, &no, now_ms, &waiting);
        delay_ms = dry_run_cache_get(&cache, &job, now_ms)->retry_at_ms - now_ms;
        CHECK(delay_ms <= *most && delay_ms >= *most / 4 * 3);
        now_ms += delay_ms;
    }
    AUTO(strv) struct strv waiting = {0};
    struct dry_run_result no = rejected();

    CHECK(dry_run_cache_begin(&cache, &job));
    dry_run_cache_complete(&cache, fingerprint, &yes, now_ms, &waiting);
    CHECK(!dry_run_cache_get(&cache, &job, now_ms)->reason);
    CHECK_INT_EQ(dry_run_cache_get(&cache, &job, now_ms)->priority, 3);
    CHECK(dry_run_cache_begin(&cache, &job));
    dry_run_cache_complete(&cache, fingerprint, &no, now_ms, &waiting);
    CHECK(no.retry_at_ms <= now_ms + 10000);
    dry_run_cache_release(&cache);
}
