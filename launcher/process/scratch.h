/* Where this pod can write a file: its image may be read-only. */
#pragma once

#include "base/core/err.h"
#include "launcher/env/envv.h"

#define SCRATCH_DIR "/var/run/ipu-launch/tmp" /* a volume, in launcher pods and their workers */

/* SCRATCH_DIR, $TMPDIR or /tmp; borrowed. ERR_DENIED: none of them can be written to. */
MUST_USE bool scratch_find(const struct envv *env, const char **ret, struct err *err);
/* Sets TMPDIR when it is not set and programs could not write to /tmp: Open MPI must. */
void scratch_complete(struct envv *env);
