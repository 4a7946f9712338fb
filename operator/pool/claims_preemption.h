/* Whose IPUs another job gets by its priority, or could get because they would fit elsewhere. Pure. */
#pragma once

#include "operator/forecast/plan/remedy.h"
#include "operator/pool/claims_plan.h"

struct claims_preemption {
    size_t claim;                       /* that starts when the victims have released their IPUs */
    size_t controller;                  /* where they are... */
    size_t victims[REMEDY_VICTIMS_MAX]; /* ...by index in its running[] */
    size_t victim_count;
    uint64_t cost_ipu_s; /* of all of them */
    int64_t again_s;     /* a job has run for long enough then; FORECAST_UNKNOWN: none will have */
};

/* For the first claim of the line that preempts and has a reservation, so that nobody behind it takes what is
 * released, and that starts when the cheapest victims are gone, but not as early without that. They agree to
 * it, are of lower priority, so that no two jobs preempt each other, and have had their IPUs for `exempt_s`.
 * IPUs that are being released already are counted on. False: there are no victims. */
bool claims_find_preemption(const struct claims_view *view, const struct claim *claims,
                            const struct claims_plan *plan, int64_t exempt_s, struct claims_preemption *ret);
/* Of a claim for which free IPUs make no block: jobs that would fit elsewhere now, and whose restart would
 * gain more than three times what it costs. Advice: they need not agree. */
bool claims_find_advice(const struct claims_view *view, const struct claims_plan *plan, uint32_t claim,
                        struct claims_preemption *ret);
