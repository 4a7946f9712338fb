/* What a status tells of the next start, and how seldom that changes. */
#include "operator/reconcile/decide/model/job_forecast.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define NOW_S 1790000000 /* 2026-09-21T14:13:20Z */
#define MINUTE 60
#define HOUR 3600

static const struct forecast_verdict soon = {.position = 3,
                                             .basis = FORECAST_BY_HISTORY,
                                             .p10_s = NOW_S + 10 * MINUTE,
                                             .p50_s = NOW_S + 20 * MINUTE,
                                             .p90_s = NOW_S + 30 * MINUTE};

static void check_forecast(const cJSON *status, const char *want)
{
    AUTO(mem) char *text = json_print(json_at(status, "forecast"));

    CHECK_STR_EQ(text, want);
}

TEST(times_are_coarser_the_farther_away_they_are)
{
    static const struct {
        int64_t after_s, step_s;
    } rows[] = {{-5, 60},        {0, 60},          {59 * MINUTE, 60}, {HOUR, 300},       {5 * HOUR, 300},
                {6 * HOUR, 900}, {23 * HOUR, 900}, {24 * HOUR, 3600}, {240 * HOUR, 3600}};

    CHECK_ROWS (row, rows) {
        int64_t at_s = NOW_S + row->after_s, from_s = row->after_s < 0 ? NOW_S : at_s;
        struct forecast_verdict verdict = {
            .position = 1, .basis = FORECAST_BY_BOUNDS, .p10_s = at_s, .p50_s = at_s, .p90_s = at_s};
        struct job_forecast forecast;

        CHECK(job_forecast_round(&verdict, NOW_S, false, &forecast));
        CHECK_INT_EQ(forecast.earliest_s, from_s / row->step_s * row->step_s);
        CHECK_INT_EQ(forecast.latest_s, (from_s + row->step_s - 1) / row->step_s * row->step_s);
        CHECK_INT_EQ(forecast.expected_s, (from_s + row->step_s / 2) / row->step_s * row->step_s);
    }
}

TEST(who_is_far_behind_or_not_in_line_is_told_nothing)
{
    static const struct {
        uint32_t position;
        uint8_t basis;
        bool is_told;
    } rows[] = {{0, FORECAST_OPEN, false},
                {1, FORECAST_BY_NOW, false},
                {1, FORECAST_BY_BOUNDS, true},
                {JOB_FORECAST_POSITIONS, FORECAST_BY_ORDER, true},
                {JOB_FORECAST_POSITIONS + 1, FORECAST_BY_ORDER, false}};

    CHECK_ROWS (row, rows) {
        struct forecast_verdict verdict = {.position = row->position, .basis = row->basis};
        struct job_forecast forecast;

        CHECK_INT_EQ(job_forecast_round(&verdict, NOW_S, false, &forecast), row->is_told);
    }
}

TEST(nobody_knows_when)
{
    struct forecast_verdict verdict = soon;
    struct job_forecast forecast;
    AUTO(json) cJSON *status = json_object();

    verdict.basis = FORECAST_OPEN;
    CHECK(job_forecast_round(&verdict, NOW_S, false, &forecast));
    json_put_take(status, "forecast", job_forecast_print(NULL, &forecast, NOW_S));
    check_forecast(status, "{\"position\":3,\"basis\":\"Open\",\"asOf\":\"2026-09-21T14:13:20Z\"}");
}

TEST(a_controller_that_chooses_its_ipus_is_no_sure_basis)
{
    struct forecast_verdict verdict = soon;
    struct job_forecast forecast;

    CHECK(job_forecast_round(&verdict, NOW_S, true, &forecast));
    CHECK_STR_EQ(forecast.basis, "Counted");
    CHECK(forecast.expected_s != FORECAST_UNKNOWN);
    verdict.basis = FORECAST_OPEN;
    CHECK(job_forecast_round(&verdict, NOW_S, true, &forecast));
    CHECK_STR_EQ(forecast.basis, "Open");
}

TEST(the_latest_time_alone_may_be_open)
{
    struct forecast_verdict verdict = soon;
    struct job_forecast forecast;

    verdict.p90_s = FORECAST_UNKNOWN;
    CHECK(job_forecast_round(&verdict, NOW_S, false, &forecast));
    CHECK_INT_EQ(forecast.latest_s, FORECAST_UNKNOWN);
    CHECK(forecast.expected_s != FORECAST_UNKNOWN);
}

TEST(what_says_the_same_is_as_of_the_time_it_was_told)
{
    static char name[] = "ild1";
    static const struct job_forecast_place place = {name, 0xffff0000};
    AUTO(json) cJSON *first = json_object(), *second = json_object();
    struct job_forecast forecast;

    CHECK(job_forecast_round(&soon, NOW_S, false, &forecast));
    forecast.controller = "pod64:8090";
    forecast.places = &place;
    forecast.place_count = 1;
    json_put_take(first, "forecast", job_forecast_print(NULL, &forecast, NOW_S));
    check_forecast(first, "{\"position\":3,\"basis\":\"History\",\"earliest\":\"2026-09-21T14:23:00Z\","
                          "\"expected\":\"2026-09-21T14:33:00Z\",\"latest\":\"2026-09-21T14:44:00Z\","
                          "\"reservedBlock\":{\"controller\":\"pod64:8090\",\"places\":[{\"domain\":\"ild1\","
                          "\"ipus\":\"00000000ffff0000\"}]},\"asOf\":\"2026-09-21T14:13:20Z\"}");
    CHECK(job_forecast_round(&soon, NOW_S + 30, false, &forecast));
    forecast.controller = "pod64:8090";
    forecast.places = &place;
    forecast.place_count = 1;
    json_put_take(second, "forecast", job_forecast_print(first, &forecast, NOW_S + 30));
    CHECK(json_equal(json_at(second, "forecast"), json_at(first, "forecast")));
    forecast.position = 2;
    json_put_take(second, "forecast", job_forecast_print(first, &forecast, NOW_S + 30));
    CHECK_STR_EQ(json_str(second, "forecast/asOf", NULL), "2026-09-21T14:13:50Z");
}
