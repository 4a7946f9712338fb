/* Which events tell that the status of a job changes. Pure. */
#pragma once

#include "operator/reconcile/decide/status/status.h"

/* A write that the plan needs and the API server refuses is what there is to tell; the verdict says so then.
 * Returns whether there is one. */
bool telling_of_refused_write(const struct job_view *view, const struct plan *plan, struct verdict *verdict);
void telling_add(const cJSON *before, const cJSON *after, const struct verdict *verdict, struct plan *plan);
