/* Which events tell that the status of a job changes. Pure. */
#pragma once

#include "operator/reconcile/decide/status/status.h"

/* A write that the plan needs and the API server refuses is what there is to tell; the verdict says so then.
 * Returns whether there is one. */
bool verdict_note_rejected_write(const struct job_view *view, const struct plan *plan,
                                 struct job_verdict *verdict);
void status_events_add(const cJSON *before, const cJSON *after, const struct job_verdict *verdict,
                       struct plan *plan);
