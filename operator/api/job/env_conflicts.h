/* Variables of the share that a template sets by hand. They are never overwritten, so one that says other
 * than the job's partition will is a mistake: its program would use IPUs of nobody, or another job's. Only
 * what stands there in so many words is judged, not what comes from a Secret, a ConfigMap or other variables.
 * Pure. */
#pragma once

#include "operator/api/job/job.h"

/* `job` is the whole object, `spec` what was read from it without a mistake. */
void env_conflicts_check(const cJSON *job, const struct job_spec *spec, struct strv *problems);
