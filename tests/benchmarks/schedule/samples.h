/* Numbers of which mean and quantiles are wanted. Zeroed, it is empty. */
#pragma once

#include <stddef.h>

#include "base/core/mem.h"

struct samples {
    double *values, sum;
    size_t count, capacity;
};

void samples_add(struct samples *s, double value);
double samples_mean(const struct samples *s);         /* 0 of none */
double samples_quantile(struct samples *s, double q); /* sorts them; 0 of none */
void samples_release(struct samples *s);
DEFINE_AUTO(samples);
