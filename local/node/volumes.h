/* The volumes of a pod as directories and files of this machine, below the pod's directory, and the mounts of
 * a container that show them at their places. */
#pragma once

#include "local/node/pod_env.h"
#include "local/node/sandbox.h"

/* Creates what the pod's volumes contain below `dir`. */
MUST_USE bool volumes_make(const cJSON *pod, const struct pod_source *source, const char *dir,
                           struct err *err);
/* Adds the container's volume mounts. `launcher` is the directory with ipu-launch, for its volume. */
MUST_USE bool volumes_mount(const cJSON *pod, const cJSON *container, const struct strv *env, const char *dir,
                            const char *launcher, struct sandbox *sandbox, struct err *err);
