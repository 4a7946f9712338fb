/* When would a job start that does not exist? The engine plans the queue as it is, with one more claim.
 * Changes nothing, and needs the reconciler no longer once it is begun. */
#pragma once

#include "operator/reconcile/report/what_if_request.h"

struct forecast_plan;
struct forecast_verdict;
struct reconciler;
struct what_if;

/* Owned by the caller. NULL: not yet, because the first jobs of a long queue are not found (as
 * reconciler_knows_queue). */
struct what_if *what_if_begin(const struct reconciler *reconciler, const struct what_if_request *request);
/* A job of one instance and ordinary priority, of a namespace that has no other, that only this controller
 * can serve. bound_s as for a request. Owned by the caller; NULL likewise. */
struct what_if *what_if_begin_at(const struct reconciler *reconciler, size_t controller, uint32_t ipus,
                                 int64_t bound_s);
/* Work on what nobody has asked counts as that of the forecasts, which then rest the longer. */
void what_if_charge(struct reconciler *reconciler, int64_t work_us);
/* As forecast_step. */
bool what_if_step(struct what_if *what_if, uint32_t work);
/* Its cause is known from the start; the rest once it is complete. Borrowed. */
const struct forecast_verdict *what_if_verdict(const struct what_if *what_if);
/* Borrowed. */
const struct forecast_plan *what_if_plan(const struct what_if *what_if, int64_t *ret_now_s);
/* Once it is complete. Names no job. Owned by the caller. */
cJSON *what_if_print(const struct what_if *what_if);
void what_if_free(struct what_if *what_if); /* accepts NULL */
