/* Variables of the worker's share that a template sets itself. The operator never overwrites them, so one
 * that contradicts the job's partition is a mistake: its program would use the wrong IPUs. Only literal
 * values are checked, not those from a Secret, a ConfigMap or other variables. Pure. */
#pragma once

#include "operator/api/job/job.h"

/* `job` is the whole object, `spec` what was read from it. With ipus_per_instance 0 the worker's share is not
 * known, and variables are not compared with it. */
void env_conflicts_check(const cJSON *job, const struct job_spec *spec, struct strv *problems);
