/* What a job's command finds in its environment beyond what the pod spec gives it (docs/environment.md is the
 * page for users). Pure: an environment comes in and is completed. A value that is there is never
 * overwritten; PATH alone is lengthened, at its end, so that the image's own programs win. The IPU_JOB_*
 * variables stay visible: they say nothing secret, and a second launcher inside the command reads the same
 * shape. */
#pragma once

#include "base/core/err.h"
#include "launcher/env/envv.h"

/* IPU_DEFAULT_X=v means: X=v unless the user has set X. So travels what a pod spec's env must not say
 * outright because it would beat the user's envFrom. */
#define JOBENV_DEFAULT_PREFIX "IPU_DEFAULT_"
#define JOBENV_DEFAULTS_MAX 256

/* What container runtimes give a container whose image has no PATH. */
#define JOBENV_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* dir is where the launcher's companions are, or NULL. ERR_INVALID when the shape makes no sense; env is of
 * no use then. */
MUST_USE bool jobenv_complete(struct envv *env, const char *dir, struct err *err);
/* The same for what a launcher starts on a worker: without the share of this worker, because mpirun and
 * poprun divide the replicas, and tell each process its part. */
MUST_USE bool jobenv_complete_remote(struct envv *env, const char *dir, struct err *err);
/* The same for a launcher pod, which is no worker: nothing of the shape. */
MUST_USE bool jobenv_complete_launcher(struct envv *env, const char *dir, struct err *err);
