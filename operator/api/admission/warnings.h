/* Mistakes that are allowed: fields that have no effect in this job, and changes that come too late. kubectl
 * prints each as a warning. Errors are in validate.h. Pure. */
#pragma once

#include "base/core/str.h"
#include "base/doc/json.h"

/* The longest warning that an API server passes on without truncating it. */
#define WARNING_TEXT_MAX 256

/* What of this installation matters. */
struct warning_facts {
    uint32_t largest_partition; /* IPUs, that some V-IPU controller could ever create; 0: not known */
    const struct strv *priority_classes; /* that order the queue, as in queue_priority.h */
};

/* `old` is the previous version of the job with its status, or NULL for a new one. Its warnings are not
 * repeated. */
void warnings_for_job(const cJSON *old, const cJSON *job, const struct warning_facts *facts,
                      struct strv *warnings);
