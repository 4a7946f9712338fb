#include "operator/forecast/run_estimate.h"

#include <stddef.h>

#include "base/core/mem.h"

int64_t run_estimate_corrected(int64_t expected_s, int64_t now_s)
{
    static const int32_t MINUTES[] = {1, 5, 15, 30, 60, 120, 300, 600, 1200, 3000, 6000};
    int64_t last = MINUTES[COUNT_OF(MINUTES) - 1] * 60, late, sum = 0;

    if (expected_s > now_s || __builtin_sub_overflow(now_s, expected_s, &late))
        return expected_s > now_s ? expected_s : INT64_MAX;
    for (size_t i = 0; i < COUNT_OF(MINUTES) && sum <= late; i++)
        sum += MINUTES[i] * 60;
    if (sum <= late)
        sum += ((late - sum) / last + 1) * last;
    return __builtin_add_overflow(expected_s, sum, &sum) ? INT64_MAX : sum;
}
