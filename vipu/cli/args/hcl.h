/* The part of HCL that vipu's configuration files use: `key = "value"`, one per line, and comments. Values
 * may be quoted strings, integers, true or false. Blocks, lists and expressions are rejected. */
#pragma once

#include <stdbool.h>

#include "base/core/str.h"

#define HCL_MAX_BYTES ((size_t)64 * 1024)

/* key and value are borrowed for the call; line is 1-based. */
typedef void (*hcl_fn)(void *ctx, const char *key, const char *value, unsigned line);

/* Calls fn for each setting; false with one sentence per mistake ("NAME: line N: ...") in problems. */
bool hcl_parse(struct slice text, const char *name, hcl_fn fn, void *ctx, struct strv *problems);
