#include "operator/reconcile/decide/model/job_forecast.h"

#include <inttypes.h>
#include <string.h>

#include "base/text/timefmt.h"

static const char *const BASES[] = {[FORECAST_BY_BOUNDS] = "Bounds",
                                    [FORECAST_BY_HISTORY] = "History",
                                    [FORECAST_BY_ORDER] = "Order",
                                    [FORECAST_OPEN] = "Open"};

/* The farther away, the coarser: a time that nobody can know to the minute would change all the time. */
static int64_t step_of(int64_t left_s)
{
    static const struct {
        int64_t below_s, step_s;
    } steps[] = {{3600, 60}, {6 * 3600, 5 * 60}, {24 * 3600, 15 * 60}, {INT64_MAX, 3600}};
    size_t i = 0;

    while (left_s >= steps[i].below_s)
        i++;
    return steps[i].step_s;
}

enum rounding { DOWN, NEAREST, UP };

static int64_t rounded(int64_t at_s, int64_t now_s, enum rounding rounding)
{
    int64_t from_s = at_s > now_s ? at_s : now_s, step_s;

    if (at_s == FORECAST_UNKNOWN)
        return FORECAST_UNKNOWN;
    step_s = step_of(from_s - now_s);
    from_s += rounding == UP ? step_s - 1 : rounding == NEAREST ? step_s / 2 : 0;
    return from_s - from_s % step_s;
}

void job_forecast_round_times(const struct forecast_verdict *expected, int64_t now_s,
                              struct job_forecast *ret)
{
    bool is_open = expected->basis == FORECAST_OPEN;

    ret->earliest_s = is_open ? FORECAST_UNKNOWN : rounded(expected->p10_s, now_s, DOWN);
    ret->expected_s = is_open ? FORECAST_UNKNOWN : rounded(expected->p50_s, now_s, NEAREST);
    ret->latest_s = is_open ? FORECAST_UNKNOWN : rounded(expected->p90_s, now_s, UP);
}

int64_t job_forecast_round_span(int64_t span_s)
{
    return span_s - span_s % step_of(span_s);
}

bool job_forecast_round(const struct forecast_verdict *expected, int64_t now_s, bool is_counted,
                        struct job_forecast *ret)
{
    bool is_open = expected->basis == FORECAST_OPEN;

    if (expected->position == 0 || expected->position > JOB_FORECAST_POSITIONS ||
        expected->basis == FORECAST_BY_NOW)
        return false;
    *ret = (struct job_forecast){
        .position = expected->position,
        .basis = is_counted && !is_open ? JOB_FORECAST_COUNTED : BASES[expected->basis],
    };
    job_forecast_round_times(expected, now_s, ret);
    return true;
}

static void put_block(cJSON *object, const struct job_forecast *forecast)
{
    cJSON *block = json_put_object(object, "reservedBlock"), *places;

    json_put_str(block, "controller", forecast->controller);
    places = json_put_array(block, "places");
    for (size_t i = 0; i < forecast->place_count; i++) {
        cJSON *place = json_push_take(places, json_object());

        json_put_str(place, "domain", forecast->places[i].domain);
        json_put_strf(place, "ipus", "%016" PRIx64, forecast->places[i].ipus);
    }
}

cJSON *job_forecast_print(const cJSON *before, const struct job_forecast *forecast, int64_t now_s)
{
    cJSON *object = json_object();

    json_put_i64(object, "position", forecast->position);
    json_put_str(object, "basis", forecast->basis);
    json_put_time(object, "earliest", forecast->earliest_s);
    json_put_time(object, "expected", forecast->expected_s);
    json_put_time(object, "latest", forecast->latest_s);
    if (forecast->controller)
        put_block(object, forecast);
    json_put_str(object, "asOf", json_str(before, "forecast/asOf", NULL));
    if (!json_equal(object, json_at(before, "forecast")))
        json_put_time(object, "asOf", now_s);
    return object;
}

/* ---- in words ---- */

/* Where its parts begin. */
enum { DATE_LEN = 10, CLOCK = 11, CLOCK_LEN = 5 };

/* False: a user has edited the forecast, or it has no such time. */
static bool read_time(const cJSON *forecast, const char *key, char ret[TIMEFMT_RFC3339_SIZE])
{
    int64_t at_s;

    if (!timefmt_parse_rfc3339(json_str(forecast, key, ""), &at_s))
        return false;
    timefmt_rfc3339(at_s, ret);
    return true;
}

static void add_time(struct str *text, const char *word, const char *at, bool has_date)
{
    str_addf(text, " %s ", word);
    if (has_date)
        str_addf(text, "%.*s ", DATE_LEN, at);
    str_addf(text, "%.*s", CLOCK_LEN, at + CLOCK);
}

char *job_forecast_describe(const cJSON *forecast, int64_t now_s)
{
    char earliest[TIMEFMT_RFC3339_SIZE], latest[TIMEFMT_RFC3339_SIZE], now[TIMEFMT_RFC3339_SIZE];
    bool has_latest = read_time(forecast, "latest", latest), has_date, is_exact;
    struct str text = {0};

    if (!read_time(forecast, "earliest", earliest))
        return NULL;
    timefmt_rfc3339(now_s, now);
    is_exact = has_latest && str_eq(earliest, latest);
    has_date = strncmp(earliest, now, DATE_LEN) != 0 || (has_latest && strncmp(latest, now, DATE_LEN) != 0);
    str_adds(&text, "expected to start");
    add_time(&text, is_exact ? "at" : has_latest ? "between" : "after", earliest, has_date);
    if (has_latest && !is_exact)
        add_time(&text, "and", latest, has_date);
    str_adds(&text, " UTC");
    return str_take(&text);
}
