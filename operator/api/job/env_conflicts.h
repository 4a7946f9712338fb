/* Variables of the worker's share that a template sets itself. The operator never overwrites them, so one
 * that contradicts the job's partition is a mistake: its program would use the wrong IPUs. Only literal
 * values are checked, not those from a Secret, a ConfigMap or other variables. Pure. */
#pragma once

#include "operator/api/job/job.h"

/* `job` is the whole object, `spec` is read from it without a mistake. */
void env_conflicts_check(const cJSON *job, const struct job_spec *spec, struct strv *problems);
