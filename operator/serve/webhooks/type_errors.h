/* Values of the wrong type in a pod template. The API server's parser stops at the first, and names its field
 * without saying in which container. Pure. */
#pragma once

#include "base/doc/json.h"

/* What `status` says of a value of the wrong type, as a Status with a cause for each such value; they go from
 * the PodTemplate that was asked about, so that it can be asked about the rest. NULL: there are none. Yours.
 */
cJSON *type_errors_remove(cJSON *pods, const cJSON *status);
