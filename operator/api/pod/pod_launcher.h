/* What a job with a launcher has beside its worker template: the launcher pod and the agents in its workers.
 * Pure. docs/environment.md has the contract with ipu-launch, docs/launcher.md what the pod takes over. */
#pragma once

#include "operator/api/pod/pod_env.h"

/* A worker as the launcher finds it. */
struct pod_launcher_host {
    const char *ip; /* NULL: not known yet */
    uint16_t port;
};

/* Do the pods made from this template use their node's network? */
bool pod_launcher_uses_host_network(const struct job *job, const struct pod_spec_options *options);
/* The launcher of an instance, whose hosts are its workers in their order. The pod is the worker's first
 * container with another command, and what spec.launcher.template says differently. ERR_INVALID when a
 * template cannot be turned into a pod. Yours. */
MUST_USE cJSON *pod_launcher_pod(const struct job *job, uint32_t instance,
                                 const struct pod_launcher_host *hosts,
                                 const struct partition_placement *place,
                                 const struct pod_spec_options *options, struct err *err);
/* Turns the worker pod that is being made into one that runs the agent. */
void pod_launcher_fill_worker(cJSON *spec, struct pod_env *env, const struct job *job, uint32_t instance,
                              uint32_t worker, const struct partition_placement *place);
