/* The queue as the engine of operator/forecast/ reads it, and the plan that it makes. Pure. */
#pragma once

#include "operator/pool/claims.h"

/* The engine's plan, with the input that it borrows. Its claims are those of claims_decide, in their order;
 * its controllers are those of the view, by number. A job's uid is its str_hash. */
struct claims_plan {
    struct forecast_input input;
    struct forecast *forecast;
    struct claims_plan_memory *memory; /* of the input */
    struct claims_plan_place *by_uid;  /* when it is complete */
};

/* `is_last`, per claim: it waits outside the queue, and is served after all others; NULL: none does. */
struct claims_plan *claims_plan_new(const struct claims_view *view, const struct claim *claims, size_t count,
                                    const bool *is_last);
/* IPU-seconds of what runs, for the share of its namespace: as a whole from its start, so that nobody starts
 * thousands before they count. */
uint64_t claims_plan_charge(const struct forecast_running *running, int64_t now_s);
/* As forecast_step. */
bool claims_plan_step(struct claims_plan *plan, uint32_t work);
/* The index of the job's claim; -1: it had none, or the plan is not complete. */
int64_t claims_plan_find(const struct claims_plan *plan, const char *uid);
