/* What is learned from runs and starts: estimates for the plan, and the text that outlives the process. */
#include "operator/history/history.h"

#include <stdio.h>

#include "lib/check.h"

#define LOOP ((int64_t)1000)

struct learned {
    struct history *it;
};

static void learned_init(struct learned *l)
{
    l->it = history_new();
}

static void learned_release(struct learned *l)
{
    history_free(l->it);
}

static struct run_kind kind_of(const char *name)
{
    return run_kind_of("team", name, "train:1", 4);
}

/* Runs of 100, 200, ... seconds. */
static void note_runs(struct history *history, const char *name, unsigned count)
{
    struct run_kind kind = kind_of(name);

    for (unsigned i = 1; i <= count; i++)
        history_note_run(history, &kind, 100 * (int64_t)i);
}

static struct forecast_quantiles left(struct history *history, const char *name, int64_t elapsed_s,
                                      int64_t loop_s)
{
    struct run_kind kind = kind_of(name);

    return history_left(history, &kind, elapsed_s, NULL, loop_s);
}

static struct forecast_quantiles run(struct history *history, const char *name, int64_t loop_s)
{
    struct run_kind kind = kind_of(name);

    return history_run(history, &kind, loop_s);
}

/* ---- estimates ---- */

TEST_F(learned, l, nothing_is_known_at_first)
{
    CHECK_INT_EQ(run(l->it, "digits", LOOP).p90, 0);
    CHECK_INT_EQ(left(l->it, "digits", 0, LOOP).p90, 0);
    CHECK_INT_EQ(left(l->it, "digits", 1600, LOOP).p50, 800);
    CHECK(history_is_saved(l->it));
}

TEST_F(learned, l, equal_kinds_are_looked_up_once)
{
    char name[32];

    note_runs(l->it, "digits", 9);
    for (unsigned i = 0; i < 10000; i++) {
        (void)snprintf(name, sizeof name, "digits-%u", i);
        CHECK_INT_EQ(run(l->it, name, LOOP).p90, 900);
    }
    CHECK_INT_EQ(l->it->lookups, 1);
}

TEST_F(learned, l, a_new_run_counts_after_a_while)
{
    note_runs(l->it, "digits", 9);
    CHECK_INT_EQ(run(l->it, "digits", LOOP).p90, 900);
    note_runs(l->it, "digits", 20);
    CHECK_INT_EQ(run(l->it, "digits", LOOP + HISTORY_KEPT_S - 1).p90, 900);
    CHECK_INT_EQ(run(l->it, "digits", LOOP + HISTORY_KEPT_S).p90, 1800);
}

TEST_F(learned, l, lookups_take_turns)
{
    char name[32];
    unsigned known = 0;

    note_runs(l->it, "digits", 9);
    for (unsigned second = 0; second < 4; second++) {
        for (unsigned i = 0; i < 4 * HISTORY_LOOKUPS_PER_S; i++) {
            (void)snprintf(name, sizeof name, "%c%c-job", 'a' + i / 26, 'a' + i % 26);
            known += run(l->it, name, LOOP + second).p90 != 0;
        }
        CHECK_INT_EQ(l->it->lookups, HISTORY_LOOKUPS_PER_S);
    }
    CHECK_INT_EQ(known, (1 + 2 + 3 + 4) * HISTORY_LOOKUPS_PER_S);
}

TEST_F(learned, l, what_is_left_counts_down)
{
    note_runs(l->it, "digits", 20);
    CHECK_INT_EQ(left(l->it, "digits", 15, LOOP).p90, run(l->it, "digits", LOOP).p90 - 15);
    CHECK_INT_EQ(left(l->it, "digits", 1024, LOOP).p10, 76);
    CHECK_INT_EQ(left(l->it, "digits", 1050, LOOP).p10, 50);
    CHECK_INT_EQ(left(l->it, "digits", 1050, LOOP).p90, 950);
}

TEST_F(learned, l, clocks_that_jump_do_no_harm)
{
    struct run_kind kind = kind_of("digits");

    history_note_run(l->it, &kind, -1);
    history_note_run(l->it, &kind, INT64_MIN);
    history_note_run(l->it, &kind, HISTORY_RUN_MAX_S + 1);
    history_note_run(l->it, &kind, INT64_MAX);
    CHECK_INT_EQ(l->it->runs.count, 0);
    history_note_run(l->it, &kind, (int64_t)1 << 28); /* a deadline of years */
    history_note_run(l->it, &kind, 0);
    CHECK_INT_EQ(run(l->it, "digits", LOOP).p90, 1 << 28);
    CHECK_INT_EQ(run(l->it, "digits", LOOP).p10, 1);
    CHECK_INT_EQ(left(l->it, "digits", -5, LOOP).p10, 1);
    CHECK(left(l->it, "digits", INT64_MAX, LOOP).p90 >= HISTORY_RUN_MAX_S);
    CHECK_INT_EQ(run(l->it, "digits", LOOP - 500).p10, 1);
}

/* ---- progress ---- */

static struct instance_progress reported(int64_t percent, int64_t after_s)
{
    return (struct instance_progress){.has_reported = true,
                                      .percent = percent,
                                      .reported = {.loop_s = LOOP + after_s},
                                      .moved_s = LOOP + after_s,
                                      .from_s = LOOP};
}

TEST_F(learned, l, progress_takes_the_place_of_history)
{
    struct run_kind kind = kind_of("digits");
    struct instance_progress half = reported(50, 600), done = reported(100, 600), begun = reported(4, 600);
    struct forecast_quantiles q = history_left(l->it, &kind, 700, &half, LOOP + 600);

    CHECK_INT_EQ(q.p10, 300);
    CHECK_INT_EQ(q.p50, 600);
    CHECK_INT_EQ(q.p90, 960);
    q = history_left(l->it, &kind, 700, &done, LOOP + 600);
    CHECK_INT_EQ(q.p10, 1);
    CHECK_INT_EQ(q.p50, 1);
    CHECK_INT_EQ(q.p90, 60);
    q = history_left(l->it, &kind, 704, &begun, LOOP + 600);
    CHECK_INT_EQ(q.p50, 352); /* as without it */
    q = history_left(l->it, &kind, 704, &half, LOOP + 600 + PROGRESS_STALE_S);
    CHECK_INT_EQ(q.p50, 352);
}

/* ---- starts ---- */

static struct forecast_verdict told(int64_t p10_s, int64_t p90_s, enum forecast_basis basis)
{
    return (struct forecast_verdict){.p10_s = p10_s, .p50_s = p10_s, .p90_s = p90_s, .basis = (uint8_t)basis};
}

TEST_F(learned, l, starts_are_counted_by_their_band)
{
    static const struct {
        int64_t start_s, p90_s;
        enum forecast_basis basis;
        uint64_t counts[HISTORY_STARTS];
    } rows[] = {
        {99, 200, FORECAST_BY_HISTORY, {1, 0, 0}}, {100, 200, FORECAST_BY_HISTORY, {1, 1, 0}},
        {200, 200, FORECAST_BY_ORDER, {1, 2, 0}},  {201, 200, FORECAST_BY_BOUNDS, {1, 2, 1}},
        {201, 200, FORECAST_BY_NOW, {1, 2, 1}},    {201, FORECAST_UNKNOWN, FORECAST_BY_HISTORY, {1, 2, 1}},
        {201, 200, FORECAST_OPEN, {1, 2, 1}},
    };

    CHECK_ROWS (row, rows) {
        struct forecast_verdict verdict = told(100, row->p90_s, row->basis);

        history_note_start(l->it, &verdict, row->start_s);
        for (unsigned i = 0; i < HISTORY_STARTS; i++)
            CHECK_INT_EQ(l->it->starts[i], row->counts[i]);
    }
    CHECK_INT_EQ(l->it->band_widths.sum_us, 400 * 1000000);
    CHECK(!history_is_saved(l->it));
}

TEST_F(learned, l, late_starts_widen_later_bands)
{
    struct forecast_settings before = FORECAST_SETTINGS_DEFAULT, after = FORECAST_SETTINGS_DEFAULT;
    struct forecast_verdict verdict = told(100, 200, FORECAST_BY_HISTORY);

    history_note_start(l->it, &verdict, 900);
    history_calibrate(l->it, &after);
    CHECK(after.late_permille > before.late_permille);
    CHECK(after.early_permille < before.early_permille);
}

/* ---- text ---- */

static char *read_again(struct history *to, const struct history *from)
{
    AUTO(json) cJSON *data = history_print(from);

    return history_read(to, data);
}

TEST_F(learned, l, a_new_process_knows_what_was_printed)
{
    struct forecast_verdict verdict = told(100, 200, FORECAST_BY_HISTORY);
    struct history *later = history_new();
    AUTO(mem) char *problem = NULL;

    note_runs(l->it, "digits", RUN_HISTORY_MAX + 100);
    history_note_start(l->it, &verdict, 900);
    problem = read_again(later, l->it);
    CHECK_STR_EQ(problem, NULL);
    CHECK_INT_EQ(run(later, "digits-7", LOOP).p90, run(l->it, "digits-7", LOOP).p90);
    CHECK_INT_EQ(later->late_permille, l->it->late_permille);
    CHECK_INT_EQ(later->early_permille, l->it->early_permille);
    CHECK_INT_EQ(later->starts[HISTORY_AFTER_BAND], 0);
    CHECK(history_is_saved(later));
    history_free(later);
}

TEST_F(learned, l, unsaved_runs_follow_what_is_read)
{
    struct history *other = history_new();
    AUTO(mem) char *problem = NULL;

    note_runs(l->it, "digits", 3);
    l->it->saved = l->it->noted;
    note_runs(l->it, "cifar", 2);
    l->it->late_permille = 777;
    l->it->noted.starts++;
    note_runs(other, "mnist", 4);
    problem = read_again(l->it, other);
    CHECK_STR_EQ(problem, NULL);
    CHECK_INT_EQ(l->it->runs.count, 6);
    CHECK_INT_EQ(l->it->runs.runs[0].seconds, 100);
    CHECK_INT_EQ(l->it->runs.runs[5].seconds, 200);
    CHECK_INT_EQ(l->it->runs.runs[5].kind.hashes[1], kind_of("cifar").hashes[1]);
    CHECK_INT_EQ(l->it->late_permille, 777);
    CHECK(!history_is_saved(l->it));
    history_free(other);
}

TEST(what_no_operator_has_written_is_left_out)
{
    static const struct {
        const char *data, *problem;
        uint32_t runs, late_permille;
    } rows[] = {
        {"{}", NULL, 0, 1500},
        {"{\"runs\":\"\"}", NULL, 0, 1500},
        {"{\"runs\":\"60 4 1 2 3\\n\",\"latePermille\":\"900\"}", NULL, 1, 900},
        {"{\"runs\":\"60 4 1 2 3\\nmine\\n61 4 1 2 3\\n\"}",
         "data.runs has 1 line that no operator has written", 2, 1500},
        {"{\"runs\":\"60 4 1 2 3\\n60 4 1\"}", "data.runs has 1 line that no operator has written", 1, 1500},
        {"{\"runs\":7}", NULL, 0, 1500},
        {"[]", NULL, 0, 1500},
        {"{\"runs\":\"4294967296 4 1 2 3\\n-1 4 1 2 3\\n\"}",
         "data.runs has 2 lines that no operator has written", 0, 1500},
        {"{\"latePermille\":\"99999999999999999999\",\"earlyPermille\":\"0\"}",
         "data.earlyPermille is no number from 250 to 16000; data.latePermille is no number from 250 to "
         "16000",
         0, 1500},
        {"{\"latePermille\":true}", "data.latePermille is no number from 250 to 16000", 0, 1500},
    };

    CHECK_ROWS (row, rows) {
        struct history *history = history_new();
        struct err err = {0};
        AUTO(json) cJSON *data = json_parse(slice_of(row->data), &err);
        AUTO(mem) char *problem = history_read(history, data);

        CHECK_STR_EQ(problem, row->problem);
        CHECK_INT_EQ(history->runs.count, row->runs);
        CHECK_INT_EQ(history->late_permille, row->late_permille);
        history_free(history);
    }
}

TEST_F(learned, l, a_text_over_the_limit_is_left_out)
{
    AUTO(str) struct str text = {0};
    AUTO(json) cJSON *data = json_object();
    AUTO(mem) char *problem = NULL;

    while (text.len <= HISTORY_TEXT_MAX)
        str_adds(&text, "60 4 1 2 3\n");
    json_put_str(data, "runs", str_text(&text));
    problem = history_read(l->it, data);
    CHECK_HAS(problem, "bytes, more than 524288");
    CHECK_INT_EQ(l->it->runs.count, 0);
}

TEST_F(learned, l, the_longest_lines_fit_into_the_limit)
{
    struct run_kind kind = {.hashes = {UINT32_MAX, UINT32_MAX, UINT32_MAX}, .size = UINT32_MAX};
    struct history *later = history_new();
    AUTO(json) cJSON *data = NULL;
    AUTO(mem) char *problem = NULL;

    for (unsigned i = 0; i < RUN_HISTORY_MAX; i++)
        run_history_add(&l->it->runs, &kind, UINT32_MAX);
    data = history_print(l->it);
    problem = history_read(later, data);
    CHECK_STR_EQ(problem, NULL);
    CHECK_INT_EQ(later->runs.count, RUN_HISTORY_MAX);
    history_free(later);
}
