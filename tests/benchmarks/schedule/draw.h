/* Seeded random numbers, the same on every machine. */
#pragma once

#include <stdint.h>

struct draw {
    uint64_t state; /* the seed at first */
};

double draw_uniform(struct draw *d, double low, double high);
uint32_t draw_below(struct draw *d, uint32_t n);
double draw_normal(struct draw *d);
double draw_exponential(struct draw *d, double mean);
double draw_gamma(struct draw *d, double shape, double scale);
/* The share of such numbers that are at most x. */
double gamma_cdf(double x, double shape, double scale);
