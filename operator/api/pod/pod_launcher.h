/* What a job with a launcher has in addition to its worker template: the launcher pod and the agents in its
 * workers. Pure. docs/environment.md has the contract with ipu-launch, docs/launcher.md what the pod
 * inherits. */
#pragma once

#include "operator/api/pod/pod_env.h"

/* A worker as the launcher sees it. */
struct pod_launcher_host {
    const char *ip; /* NULL: unknown yet */
    uint16_t port;
};

/* Whether the pods of this template use host networking. */
bool pod_launcher_uses_host_network(const struct job *job, const struct pod_spec_options *options);
/* The launcher pod of an instance; its hosts are the workers in their order. It is the worker's first
 * container with another command, with the changes of spec.launcher.template. ERR_INVALID if a template
 * cannot be turned into a pod. Owned by the caller. */
MUST_USE cJSON *pod_launcher_pod(const struct job *job, uint32_t instance,
                                 const struct pod_launcher_host *hosts,
                                 const struct partition_placement *place,
                                 const struct pod_spec_options *options, struct err *err);
/* Gives such a pod, whose init container of ipu-launch is there already, a hosts file that can be changed:
 * workers do not know each other's addresses when they are created. */
void pod_launcher_add_hosts_file(cJSON *spec);
/* Adds the agent to the worker pod under construction. */
void pod_launcher_fill_worker(cJSON *spec, struct pod_env *env, const struct job *job, uint32_t instance,
                              uint32_t worker, const struct partition_placement *place);
