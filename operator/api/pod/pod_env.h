/* The environment that the operator adds to the containers of job pods: docs/environment.md in code. Pure. A
 * value that the user has set is never overwritten. */
#pragma once

#include "operator/api/pod/pod_spec.h"

struct pod_env {
    cJSON *list;     /* the container's env array */
    bool by_default; /* set as IPU_DEFAULT_X: envFrom may set X, and only ipu-launch can see that */
};

void pod_env_add(struct pod_env *env, const char *name, const char *value); /* NULL: not set */
void pod_env_add_number(struct pod_env *env, const char *name, uint32_t value);
/* From a key of a Secret. */
void pod_env_add_secret(struct pod_env *env, const char *name, const char *secret, const char *key);
/* From a field of the pod; only this operator sets such a variable. */
void pod_env_add_field(struct pod_env *env, const char *name, const char *path);
bool pod_env_has(const struct pod_env *env,
                 const char *name); /* set by the user, or by the operator before */
/* The address of the partition. */
void pod_env_add_partition(struct pod_env *env, const struct partition_placement *place);
void pod_env_add_python(struct pod_env *env);
void pod_env_add_gcd(struct pod_env *env, uint32_t worker, const struct partition_placement *place);
/* What ipu-launch computes the PopDist and rank variables from: the contract of launcher/env/shape.h. */
void pod_env_add_instance(struct pod_env *env, const struct job *job, uint32_t instance);
void pod_env_add_worker(struct pod_env *env, const struct job *job, uint32_t instance, uint32_t worker,
                        const struct partition_placement *place);
/* With host networking: the node has more networks than the one of its pods' addresses. */
void pod_env_add_address(struct pod_env *env);
/* mpirun works for root, also in a shell of `kubectl exec`. */
void pod_env_add_mpi(struct pod_env *env);
/* In a worker, mpirun starts nothing on other hosts by itself, but does not start without a program for that:
 * this one is taken where an image has no ssh. */
void pod_env_add_mpi_agent(struct pod_env *env, const char *program);
/* A container that uses its image's entry point has no ipu-launch in front: the pod spec contains the
 * results. A test compares this with what `ipu-launch env` computes from the shape. */
void pod_env_add_results(struct pod_env *env, const struct job *job, uint32_t instance, uint32_t worker,
                         const struct partition_placement *place);
/* How the launcher pod and the agents of its workers identify each other. */
void pod_env_add_start(struct pod_env *env, const struct job *job, const struct partition_placement *place);
