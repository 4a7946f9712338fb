/* When would a job start that does not exist? The engine plans the queue as it is, with one more claim.
 * Changes nothing, and needs the reconciler no longer once it is begun. */
#pragma once

#include "operator/reconcile/report/what_if_request.h"

struct reconciler;
struct what_if;

/* Owned by the caller. */
struct what_if *what_if_begin(const struct reconciler *reconciler, const struct what_if_request *request);
/* As forecast_step. */
bool what_if_step(struct what_if *what_if, uint32_t work);
/* Once it is complete. Names no job. Owned by the caller. */
cJSON *what_if_print(const struct what_if *what_if);
void what_if_free(struct what_if *what_if); /* accepts NULL */
