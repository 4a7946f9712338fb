#include "operator/forecast/run_estimate.h"

#include "base/core/mem.h"
#include "lib/check.h"

static struct run_history history;

static struct run_kind kind(const char *name)
{
    return run_kind_of("team-a", name, "app:1", 4);
}

static void add(const char *name, uint32_t from, uint32_t count, uint32_t step)
{
    struct run_kind of = kind(name);

    for (uint32_t i = 0; i < count; i++)
        run_history_add(&history, &of, from + i * step);
}

static void check_quantiles(struct forecast_quantiles q, uint32_t p10, uint32_t p50, uint32_t p90)
{
    CHECK_INT_EQ(q.p10, p10);
    CHECK_INT_EQ(q.p50, p50);
    CHECK_INT_EQ(q.p90, p90);
}

TEST(numbers_in_a_name_do_not_make_another_kind)
{
    static const struct {
        const char *a, *b;
        bool is_same;
    } ROWS[] = {
        {"train-1", "train-2", true},         {"train-2026-11-26", "train-2026-11-27", true},
        {"train-x7k2p", "train-bq4zd", true}, {"train-0a1b2c3d", "train-9f8e7d6c", true},
        {"sweep12", "sweep7", true},          {"train", "train-3", true},
        {"train-a", "train-b", false},        {"train", "eval", false},
        {"train-large-1", "train-1", false},  {"7", "8", false},
    };

    CHECK_ROWS (row, ROWS) {
        struct run_kind a = kind(row->a), b = kind(row->b);

        CHECK_INT_EQ(a.hashes[0] == b.hashes[0] && a.hashes[1] == b.hashes[1], row->is_same);
    }
}

TEST(image_and_size_and_namespace_make_other_kinds)
{
    struct run_kind a = kind("x"), image = run_kind_of("team-a", "x", "app:2", 4);
    struct run_kind size = run_kind_of("team-a", "x", "app:1", 8),
                    ns = run_kind_of("team-b", "x", "app:1", 4);

    CHECK(a.hashes[0] != image.hashes[0] && a.hashes[1] == image.hashes[1]);
    CHECK(a.hashes[2] != size.hashes[2] && a.hashes[2] != ns.hashes[2]);
}

TEST(nine_runs_give_a_band_of_80_percent)
{
    struct run_kind of = kind("nine"), unknown = run_kind_of("n", "u", "i", 1);

    history.count = 0;
    check_quantiles(run_history_quantiles(&history, &of), 0, 0, 0);
    add("nine", 100, 9, 100); /* 100 to 900; the last two are 800 and 900 */
    check_quantiles(run_history_quantiles(&history, &of), 100, 850, 900);
    check_quantiles(run_history_quantiles(&history, &unknown), 100, 850, 900); /* of all */
}

/* Anyone can look for such a name. */
TEST(runs_of_another_namespace_do_not_count_whatever_their_name_hashes_to)
{
    struct run_kind of = kind("mine"), other = run_kind_of("team-b", "found", "app:1", 4);

    other.hashes[0] = of.hashes[0];
    other.hashes[1] = of.hashes[1];
    history.count = 0;
    add("mine", 100, 9, 0);
    for (int i = 0; i < 9; i++)
        run_history_add(&history, &other, 1);
    check_quantiles(run_history_quantiles(&history, &of), 100, 100, 100);
}

TEST(the_newest_runs_count)
{
    struct run_kind of = kind("changed");

    history.count = 0;
    add("changed", 10, 100, 0);
    add("changed", 5000, 50, 0);
    check_quantiles(run_history_quantiles(&history, &of), 5000, 5000, 5000);
    add("other", 7, 2 * RUN_HISTORY_MAX, 0); /* and the oldest make room */
    check_quantiles(run_history_quantiles(&history, &of), 7, 7, 7);
}

TEST(who_has_run_long_runs_long)
{
    struct run_kind of = kind("long");

    history.count = 0;
    add("long", 100, 20, 100); /* to 2,000 */
    check_quantiles(run_history_left(&history, &of, 1000), 100, 600, 1000);
    check_quantiles(run_history_left(&history, &of, 1900), 1, 950, 3800);
    check_quantiles(run_history_left(&history, &of, UINT32_MAX), 1, UINT32_MAX / 2, UINT32_MAX - 1);
    history.count = 0;
    check_quantiles(run_history_left(&history, &of, 0), 0, 0, 0);
}

TEST(a_history_is_written_and_read)
{
    static struct run_history other;
    AUTO(str) struct str text = {0}, again = {0};

    history.count = 0;
    add("a", 1, RUN_HISTORY_MAX + 3, 1);
    run_history_write(&history, &text);
    CHECK_INT_EQ(run_history_read(&other, str_text(&text)), 0);
    run_history_write(&other, &again);
    CHECK_STR_EQ(str_text(&text), str_text(&again));
    CHECK(text.len < 1 << 20); /* fits into a ConfigMap */
    CHECK_INT_EQ(other.count, RUN_HISTORY_MAX);
}

TEST(a_history_edited_by_hand_loses_only_the_lines_that_are_wrong)
{
    static struct run_history other;

    CHECK_INT_EQ(run_history_read(&other,
                                  "60 4 1 2 3\n\n-1 4 1 2 3\n4294967296 4 1 2 3\n60 4 1 2\n60 4 x 2 3\n"
                                  "60  4 1 2 3\n70 4 1 2 3 9\n0 4 1 2 3\n80 4 1 2 3"),
                 8);
    CHECK_INT_EQ(other.count, 2);
    CHECK_INT_EQ(other.runs[0].seconds, 60);
    CHECK_INT_EQ(other.runs[1].seconds, 1); /* a run takes a second at least */
}

TEST(an_end_that_has_passed_is_corrected_by_growing_steps)
{
    static const struct {
        int64_t expected_s, now_s, corrected_s;
    } ROWS[] = {
        {100, 50, 100},
        {100, 100, 160},
        {100, 160, 460},
        {100, 459, 460},
        {100, 460, 1360},
        {0, 60 * 51, 60 * 111},
        {0, 60 * 11331, 60 * 17331},
        {0, 60 * 17331, 60 * 23331},
        {INT64_MIN, 0, INT64_MAX},
        {INT64_MAX - 1, INT64_MAX - 1, INT64_MAX},
    };

    CHECK_ROWS (row, ROWS) {
        CHECK_INT_EQ(run_estimate_corrected(row->expected_s, row->now_s), row->corrected_s);
    }
}
