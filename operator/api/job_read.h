/* How the spec of a job is read, field by field: a wrong one becomes a problem that names it, and never stops
 * the reading. Pure. For operator/api/job*.c alone. */
#pragma once

#include "operator/api/job.h"

#define IPUS_PER_DOMAIN 64
#define INSTANCES_MAX 65536

/* Fields are written "restartPolicy/type"; value NULL: there is none. */
void job_problem(struct job *job, const char *field, const cJSON *value, const char *what);
bool job_count_read(const cJSON *value, uint32_t *ret);
/* An optional count in [min, max]; a bad one is a problem and leaves the fallback. */
uint32_t job_count_field(struct job *job, const cJSON *spec, const char *field, uint32_t min, uint32_t max,
                         uint32_t fallback);

void job_read_restart(struct job *job, const cJSON *spec);  /* spec.restartPolicy */
void job_read_launcher(struct job *job, const cJSON *spec); /* spec.launcher */
