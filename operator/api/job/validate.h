/* What is wrong with an IPUJob, all of it at once, each a line as the API server writes its own: the path of
 * the field, the kind of mistake, the value and what would be right. Pure: the reconciler validates a job
 * with it whatever an admission webhook or the resource definition has let through, and says the same as
 * they. Inside the pod templates it checks what the operator itself relies on; the API server validates the
 * rest, by a dry run of the pod. */
#pragma once

#include "operator/api/job/job.h"

/* `job` is the whole object; a name and uid are not needed (generateName). *ret is what could be read;
 * release it with jobspec_release, also when there are problems. Appends to `problems`. */
void validate_job(const cJSON *job, struct job_spec *ret, struct strv *problems);
/* What may not change between two versions of a job: what shapes its partitions, who runs it. Values that
 * mean the same ("8" and 8) are no change, and what was not valid before may be mended. */
void validate_change(const cJSON *old, const cJSON *job, struct strv *problems);
/* Where jobs are let past others by the limits of those that have IPUs: while a job with a limit has some,
 * according to the status of `old`, it may not get more time. */
void validate_limits(const cJSON *old, const cJSON *job, struct strv *problems);
