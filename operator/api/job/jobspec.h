/* Reads spec of an IPUJob into struct job_spec, field by field, and reports each invalid value and each pair
 * of values that contradict each other. An invalid field gets the value of an absent one. Pure. */
#pragma once

#include "operator/api/job/job.h"

/* `job` is the whole object. *ret is overwritten; release it also if there are problems. */
void jobspec_read(const cJSON *job, struct job_spec *ret, struct strv *problems);
void jobspec_release(struct job_spec *spec);

static inline void jobspec_auto(struct job_spec *spec)
{
    jobspec_release(spec);
}
