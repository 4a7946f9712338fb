/* Whether jobs get IPUs by the time that their reservations promised, and what was in the way if not. Pure.
 */
#pragma once

#include "operator/forecast/forecast.h"

enum promise {
    PROMISE_KEPT,
    PROMISE_BROKEN_BY_BACKFILL, /* a job that started after the reservation was made, and may run longer */
    PROMISE_BROKEN_BY_PRIORITY, /* a job of higher priority, or before it in turn */
    PROMISE_BROKEN_BY_OVERRUN,  /* a job that still runs after its bound, or one that was let in meanwhile */
    PROMISE_BROKEN_BY_ESTIMATE, /* a job without a bound, which was expected to end */
    PROMISE_BROKEN_BY_FOREIGN,  /* IPUs of nobody known */
    PROMISE_BROKEN_OTHERWISE,   /* the block is free: no controller, no node, or a quota */
    PROMISES
};

const char *promise_name(enum promise promise);
/* Adds the promises of the plan before, which are in the input, that were kept or broken since `looked_s`,
 * the time of that plan. Each is counted once. */
void promises_count(const struct forecast_input *input, const struct forecast_plan *plan, int64_t looked_s,
                    uint64_t counts[PROMISES]);
