/* Values of the wrong type in a pod template. The API server's parser stops at the first, and names its field
 * without saying in which container, and of a quantity that it cannot read not even that. Pure. */
#pragma once

#include "base/doc/json.h"

/* What `status` says of values of a wrong type, as a Status with a cause for each such value; they are
 * removed from the submitted PodTemplate, so that the rest can be submitted again. NULL: there are none.
 * Owned by the caller. */
cJSON *type_errors_remove(cJSON *pods, const cJSON *status);
