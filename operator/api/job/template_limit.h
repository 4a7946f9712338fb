/* What the templates of all jobs of a namespace may take in the operator's memory, compressed: admission
 * rejects a job that would exceed it. Of one that is stored all the same, they are not kept. Pure. */
#pragma once

#include "operator/api/job/job.h"

#define TEMPLATE_LIMIT_BYTES ((size_t)64 * 1024 * 1024)

size_t template_bytes(const struct job *job);
/* Adds a problem if the job has larger templates than `old` (NULL: it is new), and they would exceed the
 * limit. `bytes`: of all jobs of the namespace now. */
void template_limit_check(const cJSON *old, const cJSON *job, const char *ns, size_t bytes,
                          struct strv *problems);
/* Drops the templates of a job if those of the others leave no room for them: that is a problem of the job.
 * One that has been accepted once has as much room again, so that it goes on whatever is listed first. */
void template_limit_apply(struct job *job, size_t others_bytes);
