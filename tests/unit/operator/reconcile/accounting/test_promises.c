/* A promised start is counted once: as kept, or by what was in the way. */
#include "operator/reconcile/accounting/promises.h"

#include "lib/check.h"

#define PROMISED 1000

/* The plan at `now_s`, after one at `looked_s`: the promise of claim 7 for domain 0, with one occupant. */
static enum promise counted_if(const struct forecast_running *occupant, int64_t looked_s, int64_t now_s,
                               bool is_started, bool is_displaced, bool is_overrun)
{
    const struct forecast_claim claim = {.uid = 7, .count = 1, .priority = 5};
    const struct forecast_reservation kept = {.uid = 7,
                                              .block = {.domain = 0, .domain_count = 1, .ipus = 0xff},
                                              .since_s = 100,
                                              .start_s = PROMISED,
                                              .promise_s = PROMISED,
                                              .is_displaced = is_displaced,
                                              .is_overrun = is_overrun};
    const struct forecast_start start = {.claim = 0};
    const struct forecast_input input = {.now_s = now_s,
                                         .running = occupant,
                                         .running_count = occupant != NULL,
                                         .claims = &claim,
                                         .claim_count = 1,
                                         .reservations = &kept,
                                         .reservation_count = 1};
    const struct forecast_plan plan = {.starts = &start, .start_count = is_started};
    uint64_t counts[PROMISES] = {0}, sum = 0;
    enum promise found = PROMISES;

    promises_count(&input, &plan, looked_s, counts);
    for (size_t i = 0; i < PROMISES; i++) {
        sum += counts[i];
        found = counts[i] ? (enum promise)i : found;
    }
    CHECK(sum <= 1);
    return found;
}

static enum promise counted(const struct forecast_running *occupant, int64_t looked_s, int64_t now_s,
                            bool is_started)
{
    return counted_if(occupant, looked_s, now_s, is_started, false, false);
}

TEST(a_promise_is_counted_when_it_is_kept_or_broken)
{
    static const struct {
        int64_t looked_s, now_s;
        bool is_started;
        enum promise promise; /* PROMISES: not counted */
    } rows[] = {
        {500, 600, false, PROMISES},         {500, 600, true, PROMISE_KEPT},
        {995, PROMISED, true, PROMISE_KEPT}, {995, 1005, false, PROMISES},
        {995, 1006, true, PROMISE_KEPT},     {995, 1006, false, PROMISE_BROKEN_OTHERWISE},
        {1006, 1007, false, PROMISES},       {1006, 1007, true, PROMISES},
    };

    CHECK_ROWS (row, rows)
        CHECK_INT_EQ(counted(NULL, row->looked_s, row->now_s, row->is_started), row->promise);
}

#define BLOCK(d, i) .block = {.domain = (d), .domain_count = 1, .ipus = (i)}

TEST(what_is_in_the_way_is_the_cause)
{
    static const struct {
        struct forecast_running occupant;
        enum promise promise;
    } rows[] = {
        {{BLOCK(1, 0xff), .end_s = FORECAST_UNKNOWN}, PROMISE_BROKEN_OTHERWISE},
        {{BLOCK(0, 0xff00), .end_s = FORECAST_UNKNOWN}, PROMISE_BROKEN_OTHERWISE},
        {{BLOCK(0, 1), .controller = 1, .end_s = FORECAST_UNKNOWN}, PROMISE_BROKEN_OTHERWISE},
        {{BLOCK(0, 1), .ns = FORECAST_NONE, .end_s = FORECAST_UNKNOWN}, PROMISE_BROKEN_BY_FOREIGN},
        {{BLOCK(0, 1), .start_s = 50, .end_s = 900}, PROMISE_BROKEN_BY_OVERRUN},
        {{BLOCK(0, 1), .start_s = 200, .end_s = 900}, PROMISE_BROKEN_BY_OVERRUN},
        {{BLOCK(0, 1), .start_s = 200, .end_s = 2000}, PROMISE_BROKEN_BY_BACKFILL},
        {{BLOCK(0, 1), .start_s = 200, .end_s = FORECAST_UNKNOWN}, PROMISE_BROKEN_BY_BACKFILL},
        {{BLOCK(0, 1), .start_s = 200, .end_s = 2000, .priority = 6}, PROMISE_BROKEN_BY_PRIORITY},
        {{BLOCK(0, 1), .start_s = 50, .end_s = FORECAST_UNKNOWN}, PROMISE_BROKEN_BY_ESTIMATE},
    };

    CHECK_ROWS (row, rows)
        CHECK_INT_EQ(counted(&row->occupant, 995, 1006, false), row->promise);
}

TEST(who_comes_before_it_in_turn_does_not_pass_it)
{
    const struct forecast_running late = {BLOCK(0, 1), .start_s = 200, .end_s = 2000};
    const struct forecast_running early = {BLOCK(0, 1), .start_s = 50, .end_s = FORECAST_UNKNOWN};

    CHECK_INT_EQ(counted_if(&late, 995, 1006, false, true, false), PROMISE_BROKEN_BY_PRIORITY);
    CHECK_INT_EQ(counted_if(&early, 995, 1006, false, true, false), PROMISE_BROKEN_BY_ESTIMATE);
}

TEST(who_was_let_in_while_another_overran_is_not_the_cause)
{
    const struct forecast_running late = {BLOCK(0, 1), .start_s = 200, .end_s = 2000};

    CHECK_INT_EQ(counted_if(&late, 995, 1006, false, false, true), PROMISE_BROKEN_BY_OVERRUN);
}
