/* The objects that the volumes of a pod template refer to and that must exist: Secrets, ConfigMaps, claims.
 * Pure. */
#pragma once

#include "base/doc/json.h"

/* A list of them for a message, bounded, without optional ones; "" if there are none. Owned by the caller. */
char *pod_references_describe(const cJSON *template);
