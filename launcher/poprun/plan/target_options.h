/* POPLAR_TARGET_OPTIONS of a run: what the environment, the V-IPU partition and the parent device say, the
 * first one that has a key being right. JSON objects of strings, printed without blanks and in PopRun's
 * order. Pure. */
#pragma once

#include "base/core/err.h"

/* Each may be NULL for none. The text is yours. ERR_INVALID: the environment's is no such object. */
MUST_USE bool target_options_merge(const char *environment, const char *partition, const char *device,
                                   char **ret, struct err *err);
/* The environment's alone, "{}" for NULL. */
MUST_USE bool target_options_read(const char *environment, char **ret, struct err *err);
