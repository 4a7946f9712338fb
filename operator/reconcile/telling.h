/* Which events tell that the status of a job changes. Pure. */
#pragma once

#include "operator/reconcile/status.h"

void telling_add(const cJSON *before, const cJSON *after, const struct verdict *verdict, struct plan *plan);
