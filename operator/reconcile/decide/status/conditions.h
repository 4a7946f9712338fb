/* The conditions of a job, in the form that Kubernetes defines. Pure. */
#pragma once

#include "operator/reconcile/decide/model/verdict.h"

void conditions_put(cJSON *status, const cJSON *before, const struct job_verdict *verdict,
                    const struct job_view *view);
