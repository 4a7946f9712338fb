/* Reads spec of an IPUJob into struct job_spec, field by field, and names each value that it cannot use and
 * each pair that does not fit. Whatever is wrong leaves the value that an absent field has. Pure. */
#pragma once

#include "operator/api/job/job.h"

/* `job` is the whole object. *ret is overwritten; release it also when there are problems. */
void jobspec_read(const cJSON *job, struct job_spec *ret, struct strv *problems);
void jobspec_release(struct job_spec *spec);

static inline void jobspec_auto(struct job_spec *spec)
{
    jobspec_release(spec);
}
