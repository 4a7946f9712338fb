#include "base/core/backoff.h"

#include "lib/check.h"

TEST(delays_double_up_to_the_cap)
{
    static const struct {
        unsigned failures;
        uint32_t random;
        int64_t want_ms;
    } rows[] = {
        {1, 0, 100},           {2, 0, 200},
        {3, 0, 400},           {4, 0, 800},
        {5, 0, 1000},          {1000, 0, 1000},
        {UINT32_MAX, 0, 1000}, {1, UINT32_MAX, 76},
        {5, UINT32_MAX, 751},  {5, UINT32_MAX / 2, 876},
    };
    const struct backoff b = {.first_ms = 100, .max_ms = 1000};

    CHECK_ROWS (row, rows)
        CHECK_INT_EQ(backoff_delay_ms(&b, row->failures, row->random), row->want_ms);
}

TEST(odd_settings_stay_in_range)
{
    const struct backoff first_over_max = {.first_ms = 5000, .max_ms = 1000};
    const struct backoff long_ones = {.first_ms = 1, .max_ms = (int64_t)1 << 46};
    const struct backoff none = {0};

    CHECK_INT_EQ(backoff_delay_ms(&first_over_max, 1, 0), 1000);
    CHECK_INT_EQ(backoff_delay_ms(&long_ones, 100, 0), (int64_t)1 << 46);
    CHECK(backoff_delay_ms(&long_ones, 100, UINT32_MAX) > ((int64_t)1 << 46) / 2);
    CHECK_INT_EQ(backoff_delay_ms(&none, 3, 12345), 0);
}
