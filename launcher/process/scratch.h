/* A folder of this pod in which files can be created: its image may be read-only. */
#pragma once

#include "base/core/err.h"
#include "launcher/env/envv.h"

#define SCRATCH_DIR "/var/run/ipu-launch/tmp" /* a volume, in launcher pods and their workers */

/* SCRATCH_DIR, $TMPDIR or /tmp; borrowed. ERR_DENIED: none of them is writable. */
MUST_USE bool scratch_find(const struct envv *env, const char **ret, struct err *err);
/* Sets TMPDIR if it is not set and /tmp is not writable: Open MPI needs it. */
void scratch_complete(struct envv *env);
