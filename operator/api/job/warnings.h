/* Mistakes that are allowed: fields that have no effect in this job, and changes that come too late. kubectl
 * prints each as a warning. Errors are in validate.h. Pure. */
#pragma once

#include "base/core/str.h"
#include "base/doc/json.h"

/* The longest warning that an API server passes on without truncating it. */
#define WARNING_TEXT_MAX 256

/* `old` is the previous version of the job with its status, or NULL for a new one. Its warnings are not
 * repeated. largest_partition: IPUs of the largest one that some V-IPU controller could ever create; 0: not
 * known. */
void warnings_for_job(const cJSON *old, const cJSON *job, uint32_t largest_partition, struct strv *warnings);
