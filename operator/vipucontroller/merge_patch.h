/* Merge patches (RFC 7386). Pure. */
#pragma once

#include "base/doc/json.h"

/* What makes `after` of `before`: members that differ, and null for those that are gone; arrays as a whole.
 * NULL: nothing differs. Owned by the caller. */
cJSON *merge_patch(const cJSON *before, const cJSON *after);
