/* A launcher pod: no worker, so it has no share of the IPUs, but it knows where the workers are. */
#pragma once

#include "base/core/err.h"
#include "launcher/env/envv.h"

bool launcher_pod_is_here(const struct envv *env);
/* Writes the host file and completes env with what leads mpirun and poprun to the workers; dir is where
 * ipu-launch is, or NULL. ERR_INVALID: what the operator has said makes no sense. */
MUST_USE bool launcher_pod_complete(struct envv *env, const char *dir, struct err *err);
