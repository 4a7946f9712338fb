/* The environment of a job's command beyond what the pod spec sets (docs/environment.md is the page for
 * users). Pure: it takes an environment and completes it. An existing value is never overwritten; only PATH
 * is extended, at its end, so that the image's own programs come first. The IPU_JOB_* variables stay
 * visible: they are not secret, and a second launcher inside the command reads the same shape. */
#pragma once

#include "base/core/err.h"
#include "launcher/env/envv.h"

/* IPU_DEFAULT_X=v means: X=v unless the user has set X. Used for values that a pod spec's env must not set
 * directly because they would override the user's envFrom. */
#define JOBENV_DEFAULT_PREFIX "IPU_DEFAULT_"
#define JOBENV_DEFAULTS_MAX 256

/* What container runtimes set for a container whose image has no PATH. */
#define JOBENV_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* dir is the folder of the launcher's companion programs, or NULL. ERR_INVALID if the shape is invalid; env
 * cannot be used then. */
MUST_USE bool jobenv_complete(struct envv *env, const char *dir, struct err *err);
/* The same for what a launcher starts on a worker, but without this worker's share: mpirun and poprun divide
 * the replicas, and tell each process its part. */
MUST_USE bool jobenv_complete_remote(struct envv *env, const char *dir, struct err *err);
/* The same for a launcher pod, which is not a worker: nothing of the shape. */
MUST_USE bool jobenv_complete_launcher(struct envv *env, const char *dir, struct err *err);
