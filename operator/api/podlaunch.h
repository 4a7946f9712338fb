/* What a job with a launcher has beside its worker template: the launcher pod and the agents in its workers.
 * Pure. docs/environment.md has the contract with ipu-launch, docs/launcher.md what the pod takes over. */
#pragma once

#include "operator/api/podenv.h"

/* A worker as the launcher finds it. */
struct podlaunch_host {
    const char *ip; /* NULL: not known yet */
    uint16_t port;
};

/* Do the pods made from this template use their node's network? */
bool podlaunch_uses_host_network(const struct job *job, const struct podspec_options *options);
/* The launcher of an instance, whose hosts are its workers in their order. The pod is the worker's first
 * container with another command, and what spec.launcher.template says differently. ERR_INVALID when a
 * template cannot be turned into a pod. Yours. */
MUST_USE cJSON *podlaunch_pod(const struct job *job, uint32_t instance, const struct podlaunch_host *hosts,
                              const struct podspec_place *place, const struct podspec_options *options,
                              struct err *err);
/* Turns the worker pod that is being made into one that runs the agent. */
void podlaunch_fill_worker(cJSON *spec, struct podenv *env, const struct job *job, uint32_t instance,
                           uint32_t worker, const struct podspec_place *place);
