/* Mistakes that a job of another version of this operator, or of the vendor's, may have, and that are
 * rejected only where they are new: a job that runs with them goes on. These are fields that no job has,
 * requests for resources that no node has, labels and annotations of pods that only the operator sets, and
 * too many finalizers.
 * Pure. */
#pragma once

#include "base/core/str.h"
#include "base/doc/json.h"

/* `old` is the version before, with the mistakes that are not reported again; NULL: there is none. */
void additions_check(const cJSON *old, const cJSON *job, struct strv *problems);
/* Members of the object at `path`, such as spec/partition, that are none of `fields` ("type gcds"). */
void additions_check_fields(const cJSON *job, const char *path, const char *fields, struct strv *problems);
