/* How long runs take, from those that have ended. Pure. */
#pragma once

#include <stdint.h>

/* The next end to believe in for a run whose expected end has passed: later by 1, 5, 15 and 30 minutes, by 1,
 * 2, 5, 10, 20, 50 and then always 100 hours (Tsafrir, Etsion, Feitelson 2007): most are nearly done, and the
 * number of corrections stays small. */
int64_t run_estimate_corrected(int64_t expected_s, int64_t now_s);
