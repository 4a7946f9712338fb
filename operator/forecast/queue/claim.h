/* What the engine reads from a claim in several places. */
#pragma once

#include "operator/forecast/forecast.h"

/* A bound of 0 cannot be true. */
static inline int64_t claim_deadline(const struct forecast_claim *claim)
{
    return claim->bound_s > 0 ? claim->bound_s : FORECAST_UNKNOWN;
}

/* How `predicted` bounds what occupies IPUs and has no deadline. Where the p90 is far beyond the p50, nobody
 * knows when it ends. */
static inline int64_t occupant_bound(const struct forecast_quantiles *left)
{
    return left->p90 && left->p90 / 4 <= left->p50 ? left->p90 : FORECAST_UNKNOWN;
}

/* Seconds after a start by which it has ended, as far as others may rely on it; FORECAST_UNKNOWN: no bound.
 * Of a run time, as many times the p90 as that is of the p50: one in ten runs past its p90, one in two
 * hundred past this if run times are log-normal, and who stays in a reserved block keeps all of it. */
static inline int64_t claim_bound(const struct forecast_claim *claim, bool is_predicted)
{
    const struct forecast_quantiles *run = &claim->run;
    uint64_t bound = (uint64_t)run->p90 * (run->p50 && run->p50 < run->p90 ? run->p90 / run->p50 : 1);

    if (!is_predicted || claim_deadline(claim) != FORECAST_UNKNOWN || bound == 0 || bound >= FORECAST_UNKNOWN)
        return claim_deadline(claim);
    return (int64_t)bound;
}

/* For how long it has waited. */
static inline int64_t claim_age(const struct forecast_claim *claim, int64_t now_s)
{
    int64_t age;

    return __builtin_sub_overflow(now_s, claim->turn_s, &age) || age < 0 ? 0 : age;
}
