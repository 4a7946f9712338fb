/* What the engine reads from a claim in several places. */
#pragma once

#include "operator/forecast/forecast.h"

/* Seconds after a start by which it has ended, by what a policy believes; FORECAST_UNKNOWN: no bound. A bound
 * of 0 cannot be true. A deadline is always true, a p90 in nine of ten cases: it does not take its place. */
static inline int64_t claim_bound(const struct forecast_claim *claim, bool is_predicted)
{
    int64_t bound = claim->bound_s > 0 ? claim->bound_s : FORECAST_UNKNOWN;

    return is_predicted && claim->run.p90 && bound == FORECAST_UNKNOWN ? claim->run.p90 : bound;
}

/* For how long it has waited. */
static inline int64_t claim_age(const struct forecast_claim *claim, int64_t now_s)
{
    int64_t age;

    return __builtin_sub_overflow(now_s, claim->turn_s, &age) || age < 0 ? 0 : age;
}
