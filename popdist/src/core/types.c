#include "popdist/src/core/types.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
} types[] = {
    [POPDIST_HALF] = {"half", 2},     [POPDIST_FLOAT] = {"float", 4},   [POPDIST_DOUBLE] = {"double", 8},
    [POPDIST_INT8] = {"int8", 1},     [POPDIST_INT16] = {"int16", 2},   [POPDIST_INT32] = {"int32", 4},
    [POPDIST_INT64] = {"int64", 8},   [POPDIST_UINT8] = {"uint8", 1},   [POPDIST_UINT16] = {"uint16", 2},
    [POPDIST_UINT32] = {"uint32", 4}, [POPDIST_UINT64] = {"uint64", 8}, [POPDIST_BOOL] = {"bool", 1},
};

bool type_is_valid(enum popdist_type type)
{
    return (unsigned)type < sizeof types / sizeof *types;
}

size_t popdist_type_size(enum popdist_type type)
{
    return type_is_valid(type) ? types[type].size : 0;
}

const char *popdist_type_name(enum popdist_type type)
{
    return type_is_valid(type) ? types[type].name : "no type";
}

static float as_float(uint32_t bits)
{
    float number;

    memcpy(&number, &bits, sizeof number);
    return number;
}

static uint32_t as_bits(float number)
{
    uint32_t bits;

    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* Half has 5 bits of exponent with bias 15 and 10 of fraction; float has 8 with bias 127 and 23. */
static float float_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000U) << 16;
    uint32_t exponent = (half >> 10) & 0x1fU;
    uint32_t fraction = half & 0x3ffU;

    if (exponent == 0x1f)
        return as_float(sign | 0x7f800000U | fraction << 13);
    if (exponent)
        return as_float(sign | (exponent + 112) << 23 | fraction << 13);
    /* Subnormal: the fraction counts steps of 2^-24. */
    return as_float(sign | as_bits((float)fraction * 0x1p-24F));
}

/* To the nearest, ties to even, as the processor rounds floats. */
static uint16_t half_of_float(float number)
{
    uint32_t bits = as_bits(number);
    uint32_t sign = bits >> 16 & 0x8000U;
    uint32_t magnitude = bits & 0x7fffffffU;

    if (magnitude > 0x7f800000U)
        return (uint16_t)(sign | 0x7e00U | (magnitude >> 13 & 0x3ffU));
    if (magnitude >= 0x477ff000U) /* rounds to 65536 or more */
        return (uint16_t)(sign | 0x7c00U);
    if (magnitude < 0x38800000U) { /* below 2^-14: let the addition shift and round the fraction into place */
        uint32_t shifted = as_bits(as_float(magnitude) + 0.5F) - as_bits(0.5F);

        return (uint16_t)(sign | shifted);
    }
    magnitude += 0xfffU + (magnitude >> 13 & 1);
    return (uint16_t)(sign | ((magnitude - 0x38000000U) >> 13));
}

static void sum_half(uint16_t *into, const void *const *from, size_t sources, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float sum = float_of_half(into[i]);

        for (size_t source = 0; source < sources; source++)
            sum += float_of_half(((const uint16_t *)from[source])[i]);
        into[i] = half_of_float(sum);
    }
}

static void sum_bool(uint8_t *into, const void *const *from, size_t sources, size_t count)
{
    for (size_t source = 0; source < sources; source++) {
        const uint8_t *other = from[source];

        for (size_t i = 0; i < count; i++)
            into[i] = into[i] || other[i];
    }
}

/* Signed integers are summed as unsigned ones: the bits are the same, and nothing overflows. */
#define SUM(name, number)                                                                                    \
    static void name(number *restrict into, const void *const *from, size_t sources, size_t count)           \
    {                                                                                                        \
        for (size_t source = 0; source < sources; source++) {                                                \
            const number *restrict other = from[source];                                                     \
                                                                                                             \
            for (size_t i = 0; i < count; i++)                                                               \
                into[i] = (number)(into[i] + other[i]);                                                      \
        }                                                                                                    \
    }

SUM(sum_float, float)
SUM(sum_double, double)
SUM(sum_8, uint8_t)
SUM(sum_16, uint16_t)
SUM(sum_32, uint32_t)
SUM(sum_64, uint64_t)
#undef SUM

void type_sum(enum popdist_type type, void *into, const void *const *from, size_t sources, size_t count)
{
    switch (type) {
    case POPDIST_HALF:
        sum_half(into, from, sources, count);
        return;
    case POPDIST_FLOAT:
        sum_float(into, from, sources, count);
        return;
    case POPDIST_DOUBLE:
        sum_double(into, from, sources, count);
        return;
    case POPDIST_INT8:
    case POPDIST_UINT8:
        sum_8(into, from, sources, count);
        return;
    case POPDIST_INT16:
    case POPDIST_UINT16:
        sum_16(into, from, sources, count);
        return;
    case POPDIST_INT32:
    case POPDIST_UINT32:
        sum_32(into, from, sources, count);
        return;
    case POPDIST_INT64:
    case POPDIST_UINT64:
        sum_64(into, from, sources, count);
        return;
    case POPDIST_BOOL:
        sum_bool(into, from, sources, count);
        return;
    }
}
