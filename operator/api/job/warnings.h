/* What is allowed and is probably not what was meant: fields that have no effect in this job, and changes
 * that come too late. kubectl shows each as a warning beside its answer. Mistakes are validate.h's. Pure. */
#pragma once

#include "base/core/str.h"
#include "base/doc/json.h"

/* The longest that an API server hands on whole. */
#define ADVICE_MAX 256

/* `old` is what the job was, with its status, or NULL for a new one. What was said of it then is not said
 * again. */
void warnings_for_job(const cJSON *old, const cJSON *job, struct strv *warnings);
