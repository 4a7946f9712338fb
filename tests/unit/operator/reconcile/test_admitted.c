#include "operator/reconcile/state/dry_run_cache.h"

#include "lib/check.h"

#define NOW_MS 1000000

static struct judgement refused(void)
{
    return (struct judgement){.reason = "QuotaExceeded", .text = "none left"};
}

TEST(like_jobs_wait_for_one_answer)
{
    struct job first = {.ns = "ns", .key = "ns/first", .revision = 7};
    struct job second = {.ns = "ns", .key = "ns/second", .revision = 7};
    struct job other = {.ns = "ns", .key = "ns/other", .revision = 8};
    struct admitted admitted = {0};
    AUTO(mem) char *fingerprint = admitted_fingerprint(&first);
    AUTO(strv) struct strv waiting = {0};
    struct judgement no = refused();

    CHECK(admitted_ask(&admitted, &first));
    CHECK(!admitted_ask(&admitted, &second));
    CHECK(admitted_ask(&admitted, &other));
    CHECK(!admitted_judgement(&admitted, &second, NOW_MS));
    admitted_answer(&admitted, fingerprint, &no, NOW_MS, &waiting);
    CHECK_INT_EQ(waiting.count, 1);
    CHECK_STR_EQ(waiting.items[0], "ns/second");
    CHECK_STR_EQ(admitted_judgement(&admitted, &second, NOW_MS)->text, "none left");
    CHECK(!admitted_judgement(&admitted, &other, NOW_MS));
    CHECK(!admitted_judgement(&admitted, &second, NOW_MS + ADMITTED_FOR_MS));
    admitted_release(&admitted);
}

TEST(refused_templates_are_asked_about_more_and_more_seldom)
{
    static const int64_t most_ms[] = {10000, 20000, 40000, 80000, 120000, 120000};
    struct job job = {.ns = "ns", .key = "ns/job", .revision = 7};
    struct admitted admitted = {0};
    AUTO(mem) char *fingerprint = admitted_fingerprint(&job);
    struct judgement yes = {.priority = 3};
    int64_t now_ms = NOW_MS;

    CHECK_ROWS (most, most_ms) {
        AUTO(strv) struct strv waiting = {0};
        struct judgement no = refused();
        int64_t delay_ms;

        CHECK(admitted_ask(&admitted, &job));
        admitted_answer(&admitted, fingerprint, &no, now_ms, &waiting);
        delay_ms = admitted_judgement(&admitted, &job, now_ms)->retry_at_ms - now_ms;
        CHECK(delay_ms <= *most && delay_ms >= *most / 4 * 3);
        now_ms += delay_ms;
    }
    AUTO(strv) struct strv waiting = {0};
    struct judgement no = refused();

    CHECK(admitted_ask(&admitted, &job));
    admitted_answer(&admitted, fingerprint, &yes, now_ms, &waiting);
    CHECK(!admitted_judgement(&admitted, &job, now_ms)->reason);
    CHECK_INT_EQ(admitted_judgement(&admitted, &job, now_ms)->priority, 3);
    CHECK(admitted_ask(&admitted, &job));
    admitted_answer(&admitted, fingerprint, &no, now_ms, &waiting);
    CHECK(no.retry_at_ms <= now_ms + 10000);
    admitted_release(&admitted);
}
