/* The defaults of an IPUJob, written into the object so that `kubectl get -o yaml` shows the values in use.
 * Pure. Given values are unchanged, except for three counts: the original operator stores them as strings,
 * so numbers are converted. Applied twice, the second patch is empty. */
#pragma once

#include "base/doc/json.h"

/* A JSON patch (RFC 6902) for the whole object, owned by the caller; an empty array if nothing is missing. */
cJSON *defaults_patch(const cJSON *job);
