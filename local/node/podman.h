/* Containers of podman(1), which run the real images: as processes do, they use this machine's network, and
 * the supervisor (supervisor.h) runs a podman command in place of theirs. Command lines are pure. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"
#include "base/doc/json.h"

struct sandbox;

struct podman_container {
    const char *name;
    const cJSON *pod, *doc; /* doc: of the container, in the pod */
    const char *hostname;
    const struct strv *env; /* the container's own variables */
    const struct strv *command, *args;
    const struct sandbox *mounts;
};

/* The command line that runs it to its end. What the container's variables need of podman's own environment
 * is set in `env`, so that other users see no values in a list of processes. False: podman cannot be told. */
MUST_USE bool podman_run(const struct podman_container *container, struct strv *env, struct strv *ret_words,
                         struct err *err);
void podman_exec(const char *name, const cJSON *command, struct strv *ret_words);
/* Ends the container if it runs, and forgets it; no error if there is none. */
void podman_remove(const char *name, struct strv *ret_words);

/* Whether podman is installed; why not, and what to do. */
MUST_USE bool podman_is_installed(struct err *err);
/* Pulls the images of the pods of a job as their policies say. */
MUST_USE bool podman_pull_images(const cJSON *job, struct err *err);
