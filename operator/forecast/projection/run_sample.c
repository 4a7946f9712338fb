#include "operator/forecast/projection/run_sample.h"

#define ONE (1 << 16) /* fixed point */

/* The upper half of 64 equally probable values of a normal distribution, whose p90 is one. */
static const int32_t UPPER[] = {
    1002,  3006,  5015,  7032,  9060,  11102, 13163, 15244, 17352,  19489,  21661,
    23873, 26130, 28439, 30808, 33245, 35760, 38365, 41073, 43901,  46871,  50008,
    53345, 56927, 60812, 65083, 69865, 75350, 81872, 90088, 101633, 123629,
};

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Logarithm to base 2 and back, in whole numbers so that it is the same on each machine. The parabola between
 * powers of two is off by less than 1 %, and the two undo each other. */
static int64_t log_of(uint32_t v)
{
    int32_t power = 31 - __builtin_clz(v | 1);
    int64_t part = (int64_t)(((uint64_t)v << 16 >> power) - ONE);

    return (int64_t)power * ONE + part + (part * (ONE - part) >> 16) * 22544 / ONE;
}

static uint32_t power_of(int64_t log)
{
    int64_t power = log >> 16, part = log & (ONE - 1);
    int64_t value = ONE + part - (part * (ONE - part) >> 16) * 22544 / ONE;

    if (power > 30)
        return SAMPLE_NEVER - 1;
    return power < 0 ? 1 : (uint32_t)((uint64_t)value << power >> 16);
}

static int32_t normal_of(uint64_t uid, uint32_t instance, uint32_t scenario)
{
    uint32_t at;

    if (scenario == SAMPLE_MEDIAN)
        return 0;
    at = (uint32_t)(mixed(uid ^ mixed((uint64_t)instance << 32 | (scenario + 1))) >> 58);
    return at < 32 ? -UPPER[31 - at] : UPPER[at - 32];
}

uint32_t sample_span(const struct forecast_quantiles *q, int64_t bound_s, uint64_t uid, uint32_t instance,
                     uint32_t scenario)
{
    uint32_t bound = bound_s < SAMPLE_NEVER ? (uint32_t)bound_s : SAMPLE_NEVER, span;
    struct forecast_quantiles of = *q;
    int64_t normal = normal_of(uid, instance, scenario), middle, shift;

    if (q->p90 == 0) {
        if (bound == SAMPLE_NEVER)
            return SAMPLE_NEVER;
        of = (struct forecast_quantiles){bound / 8, bound / 2, bound};
    }
    middle = log_of(of.p50);
    shift = (normal < 0 ? middle - log_of(of.p10) : log_of(of.p90) - middle) * normal / ONE;
    span = shift ? power_of(middle + shift) : of.p50;
    span = span < bound ? span : bound;
    return span ? span : 1;
}
