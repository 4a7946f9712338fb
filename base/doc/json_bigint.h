/* Integers that a double cannot represent, in a tree that was just parsed: they become cJSON_Raw nodes with
 * their original digits, so that they are passed on unchanged. Only for base/doc/json.c. */
#pragma once

#include <cjson/cJSON.h>

#include "base/core/str.h"

/* `tree` is cJSON's result for `text`. */
void json_keep_bigints(cJSON *tree, struct slice text);
