/* The ConfigMaps and Secrets that a job's pods need, and what these contain. A kubelet waits for what is not
 * there, as it may still come; here nothing comes. Pure. */
#pragma once

#include "local/job/objects.h"

/* Objects and keys that the pods need and that no file has, and paths outside of a volume. */
void references_check(const struct object *job, const struct objects *objects, struct strv *problems);
/* Keys and values of a ConfigMap or Secret that an API server would not store. */
void references_check_values(const struct object *object, struct strv *problems);
