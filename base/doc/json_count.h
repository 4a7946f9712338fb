/* The size of the tree that json_parse would build from a text, before it does: values need far more memory
 * than their text. */
#pragma once

#include "base/core/str.h"

/* Exact for JSON, counting members' values and all containers; for invalid text at least as many as cJSON
 * would create before it fails. */
size_t json_count_values(struct slice text);
