/* What the volumes of a pod template name and somebody else has to make: Secrets, ConfigMaps, claims. Pure.
 */
#pragma once

#include "base/doc/json.h"

/* A list of them for a message, bounded, without those that are optional; "" when there are none. Yours. */
char *pod_references_describe(const cJSON *template);
