#include "schedule/draw.h"

#include <math.h>

static uint64_t draw_bits(struct draw *d)
{
    uint64_t z = d->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Never the lowest value, so that its logarithm is finite. */
double draw_uniform(struct draw *d, double low, double high)
{
    return low + (high - low) * ((double)(draw_bits(d) >> 11) + 1) * 0x1p-53;
}

uint32_t draw_below(struct draw *d, uint32_t n)
{
    return (uint32_t)(draw_bits(d) % n);
}

/* Box and Muller. */
double draw_normal(struct draw *d)
{
    double radius = sqrt(-2 * log(draw_uniform(d, 0, 1)));

    return radius * cos(2 * 3.14159265358979323846 * draw_uniform(d, 0, 1));
}

double draw_exponential(struct draw *d, double mean)
{
    return -mean * log(draw_uniform(d, 0, 1));
}

/* Marsaglia and Tsang, for shapes of at least 1; all of the workloads' are. */
double draw_gamma(struct draw *d, double shape, double scale)
{
    double e = shape - 1.0 / 3, c = 1 / sqrt(9 * e), x, v;

    do {
        do {
            x = draw_normal(d);
            v = 1 + c * x;
        } while (v <= 0);
        v = v * v * v;
    } while (log(draw_uniform(d, 0, 1)) >= x * x / 2 + e * (1 - v + log(v)));
    return e * v * scale;
}

/* The power series of the lower incomplete gamma function: all terms are positive. */
double gamma_cdf(double x, double shape, double scale)
{
    double t = x / scale, term = 1 / shape, sum = term;

    if (x <= 0)
        return 0;
    for (double n = shape + 1; term > sum * 1e-15; n++)
        sum += term *= t / n;
    return sum * exp(shape * log(t) - t - lgamma(shape));
}
