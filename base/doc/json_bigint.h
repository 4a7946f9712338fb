/* Whole numbers that a double cannot hold, in a tree that was just parsed: they become cJSON_Raw nodes with
 * the digits they had, so that what is passed on is what came. For base/doc/json.c alone. */
#pragma once

#include <cjson/cJSON.h>

#include "base/core/str.h"

/* `tree` is what cJSON made of `text`. */
void json_keep_bigints(cJSON *tree, struct slice text);
