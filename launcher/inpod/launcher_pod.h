/* A launcher pod: it is not a worker, so it has no share of the IPUs, but it knows its workers. */
#pragma once

#include "base/core/err.h"
#include "launcher/env/envv.h"

bool launcher_pod_is_here(const struct envv *env);
/* Writes the host file and adds what mpirun and poprun need to reach the workers to env; dir is the folder
 * of ipu-launch, or NULL. ERR_INVALID: the operator's variables are invalid. */
MUST_USE bool launcher_pod_complete(struct envv *env, const char *dir, struct err *err);
