/* The delay after the n-th failure in a row. Pure: random bits come in, a delay comes out. */
#pragma once

#include <stdint.h>

struct backoff {
    int64_t first_ms; /* delay after the first failure */
    int64_t max_ms;   /* maximum, before jitter */
};

/* Doubles from first to max, then reduced by up to a quarter of jitter: dice 0 gives the full delay.
 * failures >= 1. */
int64_t backoff_delay_ms(const struct backoff *b, unsigned failures, uint32_t random);
