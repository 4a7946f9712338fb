/* The conditions of a job, as Kubernetes keeps them, and what they say about its end. Pure. */
#pragma once

#include "operator/reconcile/status.h"

void conditions_put(cJSON *status, const cJSON *before, const struct verdict *verdict,
                    const struct job_view *view);

/* What the status of the job says about its end. */
bool status_is_finished(const cJSON *status);
/* Failed for a reason that another spec may mend. */
bool status_is_refusal(const cJSON *status);
/* Failed for a reason that another spec may mend, and the spec has changed since. An InvalidSpec is judged
 * anew every time. */
bool status_is_stale_refusal(const cJSON *status, int64_t generation);
