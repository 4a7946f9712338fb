#include "base/text/timefmt.h"

#include <time.h>

#include "lib/check.h"

TEST(times_read_as_rfc_3339)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00Z"},
        {1795255200, "2026-11-21T10:00:00Z"},
        {951782400, "2000-02-29T00:00:00Z"},
        {-1, "1969-12-31T23:59:59Z"},
        {253402300799, "9999-12-31T23:59:59Z"},
        {INT64_MAX, "9999-12-31T23:59:59Z"},
        {INT64_MIN, "0000-01-01T00:00:00Z"},
    };
    char out[TIMEFMT_RFC3339_SIZE];
    int64_t back;

    CHECK_ROWS (row, rows) {
        CHECK_STR_EQ(timefmt_rfc3339(row->seconds, out), row->text);
        CHECK(timefmt_parse_rfc3339(row->text, &back));
        CHECK_STR_EQ(timefmt_rfc3339(back, out), row->text);
    }
}

TEST(dates_agree_with_the_c_library)
{
    char out[TIMEFMT_RFC3339_SIZE];
    char want[TIMEFMT_RFC3339_SIZE];

    for (int64_t t = -3000000000; t < 5000000000; t += 86399 * 7) {
        time_t when = (time_t)t;
        struct tm tm;
        int64_t back;

        CHECK(gmtime_r(&when, &tm) != NULL);
        CHECK(strftime(want, sizeof want, "%Y-%m-%dT%H:%M:%SZ", &tm) > 0);
        CHECK_STR_EQ(timefmt_rfc3339(t, out), want);
        CHECK(timefmt_parse_rfc3339(want, &back));
        CHECK_INT_EQ(back, t);
    }
}

TEST(micro_times)
{
    char out[TIMEFMT_RFC3339_SIZE];

    CHECK_STR_EQ(timefmt_rfc3339_micro(1795255200123456, out), "2026-11-21T10:00:00.123456Z");
    CHECK_STR_EQ(timefmt_rfc3339_micro(-1, out), "1969-12-31T23:59:59.999999Z");
    CHECK_STR_EQ(timefmt_rfc3339_micro(INT64_MAX, out), "9999-12-31T23:59:59.775807Z");
}

TEST(what_is_accepted)
{
    static const struct {
        const char *text;
        bool good;
        int64_t want;
    } rows[] = {
        {"1970-01-01T00:00:01Z", true, 1},
        {"1970-01-01t00:00:01z", true, 1},
        {"1970-01-01T00:00:01.999Z", true, 1},
        {"1970-01-01T01:00:00+01:00", true, 0},
        {"1969-12-31T18:30:00-05:30", true, 0},
        {"1970-01-01T00:00:60Z", true, 60},
        {"1970-01-01 00:00:01Z", false, 0},
        {"1970-01-01T00:00:01", false, 0},
        {"1970-01-01T00:00:01.Z", false, 0},
        {"1970-01-01T00:00:01ZZ", false, 0},
        {"1970-13-01T00:00:01Z", false, 0},
        {"1970-00-01T00:00:01Z", false, 0},
        {"1970-02-29T00:00:01Z", false, 0},
        {"1900-02-29T00:00:01Z", false, 0},
        {"2000-02-29T00:00:00Z", true, 951782400},
        {"1970-01-01T24:00:00Z", false, 0},
        {"1970-01-01T00:00:00+2:00", false, 0},
        {"70-01-01T00:00:00Z", false, 0},
        {"", false, 0},
        {NULL, false, 0},
    };

    CHECK_ROWS (row, rows) {
        int64_t got = -77;

        CHECK_INT_EQ(timefmt_parse_rfc3339(row->text, &got), row->good);
        CHECK_INT_EQ(got, row->good ? row->want : -77);
    }
}

TEST(ages_read_as_kubectl_writes_them)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } rows[] = {
        {-5, "0s"},        {0, "0s"},       {45, "45s"},        {119, "119s"},    {120, "2m"},
        {200, "3m20s"},    {599, "9m59s"},  {600, "10m"},       {7500, "125m"},   {10799, "179m"},
        {10800, "3h"},     {11100, "3h5m"}, {28800, "8h"},      {172799, "47h"},  {172800, "2d"},
        {187200, "2d4h"},  {691200, "8d"},  {63071999, "729d"}, {63072000, "2y"}, {67392000, "2y50d"},
        {252288000, "8y"},
    };
    char out[TIMEFMT_RFC3339_SIZE];

    CHECK_ROWS (row, rows)
        CHECK_STR_EQ(timefmt_age(row->seconds, out), row->text);
    CHECK(timefmt_age(INT64_MAX, out)[0] != '\0');
}
