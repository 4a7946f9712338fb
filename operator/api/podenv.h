/* The environment that the operator writes into the containers of job pods: docs/environment.md in code.
 * Pure. A value that the user has set is never overwritten. */
#pragma once

#include "operator/api/podspec.h"

struct podenv {
    cJSON *list;     /* the container's env array */
    bool by_default; /* travel as IPU_DEFAULT_X: envFrom may set X, and only ipu-launch can see that */
};

void podenv_add(struct podenv *env, const char *name, const char *value); /* NULL: nothing */
void podenv_add_number(struct podenv *env, const char *name, uint32_t value);
/* From a key of a Secret. */
void podenv_add_secret(struct podenv *env, const char *name, const char *secret, const char *key);
bool podenv_has(const struct podenv *env, const char *name); /* the user's, or already ours */
/* Where the partition is. */
void podenv_add_partition(struct podenv *env, const struct podspec_place *place);
void podenv_add_gcd(struct podenv *env, uint32_t worker, const struct podspec_place *place);
/* What ipu-launch makes the PopDist and rank variables from: the contract of launcher/env/shape.h. */
void podenv_add_instance(struct podenv *env, const struct job *job, uint32_t instance);
void podenv_add_worker(struct podenv *env, const struct job *job, uint32_t instance, uint32_t worker,
                       const struct podspec_place *place);
/* A container that keeps its image's entry point has no ipu-launch in front: the pod spec carries the
 * results. A test holds this against what `ipu-launch env` makes of the shape. */
void podenv_add_results(struct podenv *env, const struct job *job, uint32_t instance, uint32_t worker,
                        const struct podspec_place *place);
/* How the launcher pod and the agents of its workers know each other. */
void podenv_add_start(struct podenv *env, const struct job *job, const struct podspec_place *place);
