/* What a user left open in an IPUJob, written out, so that `kubectl get -o yaml` shows what counts. Pure.
 * Values that were given are not touched, but for the three counts: the original keeps them as strings, so
 * digits that came as a number are written as a string. Applied twice, the second patch is empty. */
#pragma once

#include "base/doc/json.h"

/* A JSON patch (RFC 6902) for the whole object, yours; an empty array when nothing is open. */
cJSON *defaults_patch(const cJSON *job);
