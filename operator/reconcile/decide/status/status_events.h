/* The events that report a change of a job's status. Pure. */
#pragma once

#include "operator/reconcile/decide/model/verdict.h"

void status_events_add(const struct job_view *view, const cJSON *before, const cJSON *after,
                       const struct job_verdict *verdict, struct plan *plan);
