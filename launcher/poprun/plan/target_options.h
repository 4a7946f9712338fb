/* POPLAR_TARGET_OPTIONS of a run: those of the environment, the V-IPU partition and the parent device; the
 * first one that has a key wins. JSON objects of strings, printed without spaces and in PopRun's order.
 * Pure. */
#pragma once

#include "base/core/err.h"

/* Each may be NULL for none. The caller frees the text. ERR_INVALID: the environment's is not such an
 * object. */
MUST_USE bool target_options_merge(const char *environment, const char *partition, const char *device,
                                   char **ret, struct err *err);
/* Only the environment's, "{}" for NULL. */
MUST_USE bool target_options_read(const char *environment, char **ret, struct err *err);
