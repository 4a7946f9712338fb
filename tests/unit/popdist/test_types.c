#include "popdist/src/core/types.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/check.h"

TEST(every_type_has_a_size_and_a_name)
{
    static const size_t sizes[] = {2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 1};

    for (unsigned type = POPDIST_HALF; type <= POPDIST_BOOL; type++) {
        CHECK_INT_EQ(popdist_type_size((enum popdist_type)type), sizes[type]);
        CHECK(strcmp(popdist_type_name((enum popdist_type)type), "no type") != 0);
    }
    CHECK_INT_EQ(popdist_type_size((enum popdist_type)(POPDIST_BOOL + 1)), 0);
    CHECK_STR_EQ(popdist_type_name((enum popdist_type) - 1), "no type");
}

/* What a half means, by its definition. */
static double value_of(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double size = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                  : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                 : ldexp(fraction, -24);

    return half & 0x8000 ? -size : size;
}

static uint16_t add_halves(uint16_t one, uint16_t other)
{
    const void *from[] = {&other};

    type_sum(POPDIST_HALF, &one, from, 1, 1);
    return one;
}

TEST(every_half_survives_the_sum_with_zero)
{
    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
        uint16_t half = (uint16_t)bits, sum = add_halves(half, 0);

        if (isnan(value_of(half)))
            CHECK(isnan(value_of(sum)));
        else
            CHECK(value_of(sum) <= value_of(half) && value_of(sum) >= value_of(half));
    }
}

/* The nearest half, and of two the even one: no other half may be nearer to the exact sum. */
TEST(half_sums_are_rounded_to_the_nearest)
{
    static const uint16_t picked[] = {0x0001, 0x03ff, 0x0400, 0x3555, 0x3c00, 0x3c01,
                                      0x5bff, 0x7bff, 0x8001, 0xbc01, 0xc200, 0xfbff};

    for (size_t i = 0; i < sizeof picked / sizeof *picked; i++) {
        for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
            uint16_t sum = add_halves(picked[i], (uint16_t)bits);
            double exact = value_of(picked[i]) + value_of((uint16_t)bits), got = value_of(sum);
            double gap;

            if (isnan(exact)) {
                CHECK(isnan(got));
                continue;
            }
            if (isinf(got)) {
                CHECK(fabs(exact) >= 65520 && signbit(got) == signbit(exact));
                continue;
            }
            gap = fabs(got - exact);
            CHECK(gap <= fabs(value_of((uint16_t)(sum ^ 1)) - exact) || isnan(value_of((uint16_t)(sum ^ 1))));
            CHECK(gap <= fabs(value_of((uint16_t)(sum + 1)) - exact) ||
                  isinf(value_of((uint16_t)(sum + 1))) || isnan(value_of((uint16_t)(sum + 1))));
        }
    }
}

TEST(half_is_rounded_once_for_all_summands)
{
    /* 2048 + 1 is 2048 again when rounded, so adding 1 twice with two roundings loses both. */
    uint16_t into = 0x6800, one = 0x3c00;
    const void *from[] = {&one, &one};

    type_sum(POPDIST_HALF, &into, from, 2, 1);
    CHECK_INT_EQ(into, 0x6801); /* 2050 */
}

TEST(integers_wrap_around_and_truth_stays_true)
{
    int8_t small = 127, one = 1;
    int64_t large = INT64_MAX, more = 1;
    uint8_t truths[] = {0, 1, 0, 1}, others[] = {0, 0, 1, 1};
    const void *from[] = {&one};

    type_sum(POPDIST_INT8, &small, from, 1, 1);
    CHECK_INT_EQ(small, -128);
    from[0] = &more;
    type_sum(POPDIST_INT64, &large, from, 1, 1);
    CHECK(large == INT64_MIN);
    from[0] = others;
    type_sum(POPDIST_BOOL, truths, from, 1, 4);
    CHECK_INT_EQ(truths[0], 0);
    CHECK(truths[1] == 1 && truths[2] == 1 && truths[3] == 1);
}
