/* How large a tree json_parse would make of a text, known before it makes one: values cost far more than the
 * bytes that say them. */
#pragma once

#include "base/core/str.h"

/* Exact for JSON, members' values and all containers counted; of another text no fewer than cJSON would make
 * before it sees that. */
size_t json_count_values(struct slice text);
