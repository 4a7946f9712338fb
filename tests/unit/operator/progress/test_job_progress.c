/* The progress of a job, from reports of its instances. */
#include "operator/progress/job_progress.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define NOW ((int64_t)1800000000) /* 2027-01-15T08:00:00Z */

#define AT(s) ((struct progress_time){.loop_s = (s), .unix_s = (s)})

struct reports {
    struct job_progress it;
};

static void reports_init(struct reports *r)
{
    *r = (struct reports){0};
}

static void reports_release(struct reports *r)
{
    job_progress_release(&r->it);
}

static void add(struct reports *r, uint32_t instance, uint32_t worker, int64_t percent, int64_t at_s)
{
    job_progress_add(&r->it, instance, worker,
                     &(struct progress_report){.percent = percent, .remaining_s = 100 - percent}, AT(at_s));
}

static void check_printed(const struct reports *r, int64_t now_s, const char *want)
{
    AUTO(json) cJSON *printed = job_progress_print(&r->it, now_s);
    AUTO(mem) char *text = json_print(printed);

    CHECK_STR_EQ(text, want);
}

static void check_summary(const struct reports *r, int64_t now_s, const char *want)
{
    AUTO(json) cJSON *printed = job_progress_print(&r->it, now_s);

    CHECK_STR_EQ(json_str(printed, "progress/summary", NULL), want);
}

TEST_F(reports, r, a_report_is_shown_in_both_places)
{
    static char metrics[] = "[{\"name\":\"loss\",\"value\":\"0.23\"}]";

    job_progress_add(&r->it, 0, 0,
                     &(struct progress_report){.percent = 42, .remaining_s = 900, .metrics = metrics},
                     AT(NOW));
    check_printed(r, NOW + 5,
                  "{\"progress\":{\"summary\":\"42%\",\"percentage\":42,"
                  "\"estimatedEndTime\":\"2027-01-15T08:15:00Z\",\"lastReportTime\":\"2027-01-15T08:00:00Z\","
                  "\"instancesReporting\":1,\"instances\":[{\"instance\":0,\"worker\":0,\"percentage\":42,"
                  "\"remainingSeconds\":900,\"lastReportTime\":\"2027-01-15T08:00:00Z\"}]},"
                  "\"trainerStatus\":{\"progressPercentage\":42,\"estimatedRemainingSeconds\":900,"
                  "\"metrics\":[{\"name\":\"loss\",\"value\":\"0.23\"}],"
                  "\"lastUpdatedTime\":\"2027-01-15T08:00:00Z\"}}");
}

TEST_F(reports, r, the_mean_counts_and_the_slowest_ends_the_job)
{
    add(r, 1, 0, 20, NOW);
    add(r, 0, 0, 100, NOW + 10);
    AUTO(json) cJSON *printed = job_progress_print(&r->it, NOW + 10);
    CHECK_INT_EQ(json_i64(printed, "trainerStatus/progressPercentage", -1), 60);
    CHECK_INT_EQ(json_i64(printed, "trainerStatus/estimatedRemainingSeconds", -1), 70);
    CHECK_STR_EQ(json_str(printed, "progress/estimatedEndTime", NULL), "2027-01-15T08:01:20Z");
    CHECK_INT_EQ(json_i64(json_at(printed, "progress/instances")->child, "instance", -1), 0);
}

TEST_F(reports, r, an_empty_report_changes_nothing)
{
    add(r, 0, 0, 20, NOW);
    job_progress_add(&r->it, 0, 0, &(struct progress_report){.percent = -1, .remaining_s = -1}, AT(NOW + 30));
    job_progress_add(&r->it, 1, 0, &(struct progress_report){.percent = -1, .remaining_s = -1}, AT(NOW + 30));
    CHECK_INT_EQ(r->it.count, 1);
    CHECK_INT_EQ(r->it.instances[0].reported.loop_s, NOW);
}

TEST_F(reports, r, the_first_worker_counts_as_long_as_it_reports)
{
    add(r, 0, 1, 10, NOW);
    add(r, 0, 0, 20, NOW + 1);
    add(r, 0, 1, 30, NOW + 2);
    CHECK_INT_EQ(r->it.instances[0].percent, 20);
    add(r, 0, 1, 30, NOW + 1 + PROGRESS_STALE_S);
    CHECK_INT_EQ(r->it.instances[0].percent, 30);
    CHECK_INT_EQ(r->it.instances[0].worker, 1);
}

TEST_F(reports, r, a_report_that_does_not_come_makes_the_last_one_stale)
{
    add(r, 0, 0, 42, NOW);
    check_summary(r, NOW + PROGRESS_STALE_S - 1, "42%");
    check_summary(r, NOW + PROGRESS_STALE_S, "42% (stale)");
    CHECK_INT_EQ(job_progress_stale_at_s(&r->it, NOW), NOW + PROGRESS_STALE_S);
    CHECK_INT_EQ(job_progress_stale_at_s(&r->it, NOW + PROGRESS_STALE_S), INT64_MAX);
}

TEST_F(reports, r, who_reports_seldom_becomes_stale_later)
{
    for (int i = 0; i < 20; i++)
        add(r, 0, 0, i, NOW + i * 120);
    CHECK(job_progress_stale_at_s(&r->it, NOW + 19 * 120) > NOW + 19 * 120 + 4 * 120);
}

TEST_F(reports, r, what_is_done_does_not_become_stale)
{
    add(r, 0, 0, 100, NOW);
    check_summary(r, NOW + 86400, "100%");
    CHECK_INT_EQ(job_progress_stale_at_s(&r->it, NOW), INT64_MAX);
}

TEST_F(reports, r, a_clock_that_is_set_back_harms_nothing)
{
    add(r, 0, 0, 10, NOW);
    job_progress_add(&r->it, 0, 0, &(struct progress_report){.percent = 20, .remaining_s = -1},
                     (struct progress_time){.loop_s = NOW + 10, .unix_s = NOW - 3600});
    CHECK_INT_EQ(job_progress_stale_at_s(&r->it, NOW + 10), NOW + 10 + PROGRESS_STALE_S);
    AUTO(json) cJSON *printed = job_progress_print(&r->it, NOW + 10);
    CHECK_STR_EQ(json_str(printed, "progress/lastReportTime", NULL), "2027-01-15T07:00:00Z");
}

TEST_F(reports, r, who_sends_many_is_not_read)
{
    for (uint32_t i = 0; i < PROGRESS_REPORTS_MAX; i++)
        CHECK(job_progress_admit(&r->it, 3, NOW));
    CHECK(!job_progress_admit(&r->it, 3, NOW));
    CHECK(job_progress_admit(&r->it, 4, NOW));
    CHECK(!job_progress_admit(&r->it, 3, NOW + PROGRESS_WRITE_EVERY_S - 1));
    CHECK(job_progress_admit(&r->it, 3, NOW + PROGRESS_WRITE_EVERY_S));
    check_printed(r, NOW, "{\"progress\":{\"summary\":\"unknown\"}}");
}

TEST_F(reports, r, a_patch_removes_what_is_not_reported_any_more)
{
    add(r, 0, 0, 100, NOW);
    AUTO(json) cJSON *printed = job_progress_print(&r->it, NOW);
    AUTO(json) cJSON *patch = job_progress_patch(printed);
    CHECK(cJSON_IsNull(json_at(patch, "progress/stale")) && cJSON_IsNull(json_at(patch, "progress/problem")));
    CHECK(cJSON_IsNull(json_at(patch, "trainerStatus/metrics")));
    CHECK_INT_EQ(json_i64(patch, "progress/percentage", -1), 100);
}

TEST_F(reports, r, an_invalid_report_is_marked_until_the_next_one)
{
    add(r, 0, 0, 42, NOW);
    job_progress_reject(&r->it, "trainerStatus must be an object");
    check_summary(r, NOW, "42% (invalid)");
    AUTO(json) cJSON *printed = job_progress_print(&r->it, NOW);
    CHECK_STR_EQ(json_str(printed, "progress/problem", NULL), "trainerStatus must be an object");
    add(r, 0, 0, 43, NOW + 5);
    check_summary(r, NOW + 5, "43%");
}

TEST_F(reports, r, an_invalid_report_alone_is_shown_without_values)
{
    job_progress_reject(&r->it, "trainerStatus must be an object");
    check_printed(r, NOW,
                  "{\"progress\":{\"summary\":\"unknown (invalid)\",\"problem\":\"trainerStatus must be an "
                  "object\"}}");
}

TEST_F(reports, r, metrics_are_of_the_first_instance_that_has_some)
{
    static char loss[] = "[{\"name\":\"loss\",\"value\":\"1\"}]",
                other[] = "[{\"name\":\"x\",\"value\":\"2\"}]";

    job_progress_add(&r->it, 2, 0,
                     &(struct progress_report){.percent = 1, .remaining_s = -1, .metrics = other}, AT(NOW));
    job_progress_add(&r->it, 1, 0,
                     &(struct progress_report){.percent = 1, .remaining_s = -1, .metrics = loss}, AT(NOW));
    job_progress_add(&r->it, 2, 0,
                     &(struct progress_report){.percent = 2, .remaining_s = -1, .metrics = other}, AT(NOW));
    CHECK_STR_EQ(r->it.metrics.metrics, loss);
}

TEST_F(reports, r, only_the_first_instances_are_listed)
{
    for (uint32_t i = 0; i < PROGRESS_INSTANCES_SHOWN + 10; i++)
        add(r, PROGRESS_INSTANCES_SHOWN + 9 - i, 0, 50, NOW);
    AUTO(json) cJSON *printed = job_progress_print(&r->it, NOW);
    CHECK_INT_EQ(cJSON_GetArraySize(json_at(printed, "progress/instances")), PROGRESS_INSTANCES_SHOWN);
    CHECK_INT_EQ(json_i64(printed, "progress/instancesReporting", -1), PROGRESS_INSTANCES_SHOWN + 10);
    for (uint32_t i = 0; i < PROGRESS_INSTANCES_SHOWN + 10; i++)
        CHECK_INT_EQ(r->it.instances[i].instance, i);
}

static int64_t due_after(struct reports *r, int64_t percent, int64_t later_s)
{
    AUTO(json) cJSON *written = job_progress_print(&r->it, NOW);
    AUTO(json) cJSON *now = NULL;

    if (later_s)
        add(r, 0, 0, percent, NOW + later_s);
    now = job_progress_print(&r->it, NOW + later_s);
    return job_progress_write_due_s(written, NOW, now);
}

TEST_F(reports, r, writes_wait_for_a_change_that_a_reader_sees)
{
    add(r, 0, 0, 42, NOW);
    CHECK_INT_EQ(due_after(r, 42, 0), INT64_MAX);
    CHECK_INT_EQ(due_after(r, 42, 5), NOW + PROGRESS_DETAILS_EVERY_S);
    CHECK_INT_EQ(due_after(r, 43, 5), NOW + PROGRESS_WRITE_EVERY_S);
    AUTO(json) cJSON *first = job_progress_print(&r->it, NOW);
    CHECK(job_progress_write_due_s(NULL, 0, first) <= NOW);
}

/* As another leader finds it in the status. */
static void restored_init(const struct reports *r, int64_t written_s, int64_t now_s, struct job_progress *ret)
{
    AUTO(json) cJSON *status = job_progress_print(&r->it, written_s);

    *ret = (struct job_progress){0};
    job_progress_restore(ret, status, AT(now_s));
}

TEST_F(reports, r, a_new_leader_knows_what_the_status_says)
{
    static char metrics[] = "[{\"name\":\"loss\",\"value\":\"0.23\"}]";
    struct job_progress restored;

    add(r, 0, 0, 10, NOW);
    add(r, 1, 2, 30, NOW + 5);
    job_progress_add(
        &r->it, 1, 2,
        &(struct progress_report){.percent = 30, .remaining_s = -1, .metrics = metrics, .dropped_metrics = 7},
        AT(NOW + 5));
    job_progress_reject(&r->it, "trainerStatus must be an object");
    restored_init(r, NOW + 5, NOW + 50, &restored);
    AUTO(json) cJSON *before = job_progress_print(&r->it, NOW + 5);
    AUTO(json) cJSON *after = job_progress_print(&restored, NOW + 50);
    CHECK(json_equal(before, after));
    job_progress_release(&restored);
}

TEST_F(reports, r, what_is_not_reported_to_a_new_leader_becomes_stale)
{
    struct job_progress restored;

    add(r, 0, 0, 10, NOW);
    restored_init(r, NOW, NOW + 1000, &restored);
    CHECK_INT_EQ(job_progress_stale_at_s(&restored, NOW + 1000), NOW + 1000 + PROGRESS_STALE_S);
    job_progress_release(&restored);
    restored_init(r, NOW + PROGRESS_STALE_S, NOW + 1000, &restored); /* it was so before */
    AUTO(json) cJSON *printed = job_progress_print(&restored, NOW + 1000);
    CHECK_STR_EQ(json_str(printed, "progress/summary", NULL), "10% (stale)");
    job_progress_release(&restored);
}

TEST_F(reports, r, another_instance_replaces_the_metrics_of_a_status)
{
    static char old[] = "[{\"name\":\"loss\",\"value\":\"2\"}]",
                new[] = "[{\"name\":\"loss\",\"value\":\"1\"}]";
    struct job_progress restored;

    job_progress_add(&r->it, 0, 0, &(struct progress_report){.percent = 1, .remaining_s = -1, .metrics = old},
                     AT(NOW));
    restored_init(r, NOW, NOW, &restored);
    job_progress_add(&restored, 3, 0,
                     &(struct progress_report){.percent = 2, .remaining_s = -1, .metrics = new}, AT(NOW));
    CHECK_STR_EQ(restored.metrics.metrics, new);
    job_progress_release(&restored);
}

TEST_F(reports, r, a_status_that_is_nonsense_is_no_report)
{
    struct err err = {0};
    AUTO(json)
    cJSON *status =
        json_parse(slice_of("{\"progress\":{\"instances\":[{\"instance\":-1},{\"instance\":0,\"worker\":0},7,"
                            "{\"instance\":0,\"worker\":0,\"lastReportTime\":\"yesterday\"}]}}"),
                   &err);

    job_progress_restore(&r->it, status, AT(NOW));
    CHECK_INT_EQ(r->it.count, 0);
}

/* ---- how long it still takes ---- */

struct percent_report {
    int64_t at_s, percent;
};

TEST(what_is_left_follows_from_how_fast_it_moved)
{
    static const struct {
        struct percent_report reports[4];
        int64_t now_s, want_s;
    } rows[] = {
        {{{0, 0}}, 0, -1},                                 /* it has not moved */
        {{{0, 0}, {40, 4}}, 40, -1},                       /* not enough to tell */
        {{{0, 0}, {50, 5}}, 50, 950},                      /* 10 s for a point */
        {{{0, 0}, {50, 5}}, 60, 940},                      /* it counts down */
        {{{0, 40}, {40, 80}}, 40, 20},                     /* it began with a checkpoint */
        {{{0, 0}, {50, 50}, {60, 10}, {80, 20}}, 80, 160}, /* it has started again */
        {{{0, -1}, {50, 20}, {60, 30}}, 60, 70},           /* the first report had none */
        {{{0, 0}, {50, 50}, {60, -1}}, 60, -1},            /* the last report has none */
        {{{0, 0}, {50, 50}, {55, -1}, {60, 60}}, 60, 40},
        {{{0, 0}, {50, 100}}, 50, 0},
        {{{0, 0}, {50, 100}}, 50 + 2000, -1}, /* and it still runs */
        {{{0, 0}, {50, 50}, {99, 50}}, 99, 1},
        {{{0, 0}, {50, 50}, {99, 50}, {110, 50}}, 110, -1}, /* it should have ended */
        {{{0, 0}, {5, 50}}, 5 + PROGRESS_STALE_S, -1},
        {{{7, 0}, {7, 50}}, 7, -1}, /* in no time */
        {{{100, 0}, {50, 50}}, 50, -1},
    };

    CHECK_ROWS (row, rows) {
        struct reports r;

        reports_init(&r);
        for (size_t i = 0; i < COUNT_OF(row->reports) && (i == 0 || row->reports[i].at_s); i++)
            job_progress_add(&r.it, 0, 0,
                             &(struct progress_report){.percent = row->reports[i].percent, .remaining_s = 7},
                             AT(row->reports[i].at_s));
        CHECK_INT_EQ(instance_progress_left_s(&r.it.instances[0], row->now_s), row->want_s);
        reports_release(&r);
    }
}
