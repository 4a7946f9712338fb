#include "operator/kube/events/event_series.h"

#include "base/core/mem.h"
#include "lib/check.h"

static enum series_action happens(struct series_table *table, int64_t now_ms, int64_t wall_micros,
                                  struct series *series)
{
    return series_record(
        table,
        &(struct event_occurrence){.key = "e", .uid = "u", .now_ms = now_ms, .wall_micros = wall_micros},
        series);
}

TEST(the_same_event_becomes_a_series)
{
    struct series_table *table = series_new();
    struct series series;

    CHECK_INT_EQ(happens(table, 0, 1, &series), SERIES_CREATE);
    CHECK_INT_EQ(happens(table, 1000, 2, &series), SERIES_LATER);
    CHECK(series_is_pending(table));
    CHECK(!series_due(table, 2000, &series));
    CHECK(series_due(table, SERIES_PERIOD_MS, &series));
    CHECK_STR_EQ(series.key, "e");
    CHECK_INT_EQ(series.count, 2);
    CHECK_INT_EQ(series.last_micros, 2);
    CHECK(!series_is_pending(table));
    CHECK(!series_due(table, SERIES_PERIOD_MS, &series));
    CHECK_INT_EQ(happens(table, 3 * SERIES_PERIOD_MS, 3, &series), SERIES_UPDATE);
    CHECK_INT_EQ(series.count, 3);
    series_free(table);
}

TEST(idle_series_are_forgotten)
{
    struct series_table *table = series_new();
    struct series series;

    CHECK_INT_EQ(happens(table, 0, 0, &series), SERIES_CREATE);
    CHECK(!series_due(table, SERIES_IDLE_MS - 1, &series));
    CHECK_INT_EQ(series_count(table), 1);
    CHECK(!series_due(table, SERIES_IDLE_MS, &series));
    CHECK_INT_EQ(series_count(table), 0);
    CHECK_INT_EQ(happens(table, SERIES_IDLE_MS, 0, &series), SERIES_CREATE);
    series_free(table);
}

static enum series_action fresh(struct series_table *table, unsigned n, const char *uid, int64_t now_ms)
{
    AUTO(mem) char *key = mem_printf("e%u", n);
    struct series series;

    return series_record(table, &(struct event_occurrence){.key = key, .uid = uid, .now_ms = now_ms},
                         &series);
}

TEST(one_object_has_a_budget)
{
    struct series_table *table = series_new();

    for (unsigned n = 0; n < SERIES_BURST; n++)
        CHECK_INT_EQ(fresh(table, n, "loud", 0), SERIES_CREATE);
    CHECK_INT_EQ(fresh(table, 100, "loud", 0), SERIES_DROP);
    CHECK_INT_EQ(fresh(table, 101, "quiet", 0), SERIES_CREATE);
    CHECK_INT_EQ(fresh(table, 102, "loud", SERIES_REFILL_MS), SERIES_CREATE);
    CHECK_INT_EQ(fresh(table, 103, "loud", SERIES_REFILL_MS), SERIES_DROP);
    series_free(table);
}

TEST(the_table_is_bounded)
{
    struct series_table *table = series_new();

    for (unsigned n = 0; n < 3 * SERIES_MAX; n++) {
        AUTO(mem) char *uid = mem_printf("u%u", n);

        fresh(table, n, uid, 0);
    }
    CHECK_INT_EQ(series_count(table), SERIES_MAX);
    CHECK_INT_EQ(fresh(table, 999999, "u", SERIES_IDLE_MS), SERIES_CREATE);
    CHECK_INT_EQ(series_count(table), 1);
    series_free(table);
}

/* A job that fails right after a thousand others were submitted. */
TEST(a_warning_has_a_place_in_a_full_table)
{
    struct series_table *table = series_new();
    struct event_occurrence warning = {.key = "w", .uid = "late", .is_warning = true, .now_ms = 2};
    struct series series;

    for (unsigned n = 0; n < SERIES_MAX; n++) {
        AUTO(mem) char *uid = mem_printf("u%u", n);

        CHECK_INT_EQ(fresh(table, n, uid, n > 0), SERIES_CREATE);
    }
    CHECK_INT_EQ(fresh(table, SERIES_MAX, "late", 2), SERIES_DROP);
    CHECK_INT_EQ(series_record(table, &warning, &series), SERIES_CREATE);
    CHECK_INT_EQ(series_count(table), SERIES_MAX);
    CHECK_INT_EQ(series_record(table, &warning, &series), SERIES_LATER);
    CHECK_INT_EQ(fresh(table, 1, "u1", 2), SERIES_LATER); /* the one before it was quieter, and went */
    warning.key = "w2";
    CHECK_INT_EQ(series_record(table, &warning, &series), SERIES_CREATE);
    CHECK_INT_EQ(series_count(table), SERIES_MAX);
    series_free(table);
}
