#include "operator/forecast/forecast.h"

#include "lib/check.h"

/* Starts are spread evenly over 1,000 seconds; p50 is 500 and the ends move as the settings say. */
static uint32_t covered_after(uint32_t early, uint32_t late, int64_t *ret_p10, int64_t *ret_p90)
{
    struct forecast_settings s = FORECAST_SETTINGS_DEFAULT;
    uint32_t inside = 0;

    s.early_permille = early;
    s.late_permille = late;
    for (int64_t i = 0; i < 4000; i++) {
        struct forecast_verdict told = {.basis = FORECAST_BY_HISTORY, .p50_s = 500};
        int64_t start_s = i * 617 % 1000;

        told.p10_s = *ret_p10 = 500 - 100 * (int64_t)s.early_permille / 1000;
        told.p90_s = *ret_p90 = 500 + 100 * (int64_t)s.late_permille / 1000;
        inside += i >= 2000 && start_s >= told.p10_s && start_s <= told.p90_s;
        forecast_calibrate(&s, &told, start_s);
    }
    return inside;
}

TEST(each_end_of_a_band_finds_its_width)
{
    static const uint32_t FROM[][2] = {{1000, 1500}, {16000, 250}, {250, 16000}};

    for (size_t i = 0; i < 3; i++) {
        int64_t p10, p90;
        uint32_t inside = covered_after(FROM[i][0], FROM[i][1], &p10, &p90);

        CHECK(inside >= 1500 && inside <= 1700); /* of 2,000 */
        CHECK(p10 >= 50 && p10 <= 150 && p90 >= 850 && p90 <= 950);
    }
}

TEST(only_bands_of_scenarios_are_calibrated)
{
    struct forecast_settings s = FORECAST_SETTINGS_DEFAULT;
    struct forecast_verdict told = {.basis = FORECAST_BY_BOUNDS, .p10_s = 1, .p50_s = 2, .p90_s = 3};

    forecast_calibrate(&s, &told, 100);
    told.basis = FORECAST_BY_HISTORY;
    told.p90_s = FORECAST_UNKNOWN;
    forecast_calibrate(&s, &told, 100);
    CHECK(s.early_permille == 1000 && s.late_permille == 1500);
}
