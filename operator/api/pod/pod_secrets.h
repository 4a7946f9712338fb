/* Who knows whom by what, in the pods of a job: the keys that a launcher and its workers have of each other,
 * what a V-IPU controller takes the pods for, and the NetworkPolicy around those with a launcher. Pure. */
#pragma once

#include "operator/api/pod/pod_spec.h"

#define PODACCESS_KEY_BYTES 32

/* What a job's pods are given for their V-IPU controller. Borrowed; NULL: not that. */
struct pod_vipu_credentials {
    const char *user_id, *key; /* both or none */
    const char *ca_pem;
};

/* The Secret of one start. `keys`: with a launcher one for each worker, PODACCESS_KEY_BYTES each, one behind
 * the other. Yours. */
cJSON *pod_secrets_secret(const struct job *job, uint32_t instance, uint32_t start, const unsigned char *keys,
                          const struct pod_vipu_credentials *vipu);

/* In a pod of that start: the first container of `spec` asks the controller with what the Secret holds. */
struct pod_env;
void pod_secrets_mount(cJSON *spec, struct pod_env *env, const struct job *job, uint32_t instance,
                       const struct partition_placement *place);
/* Lets pods of the job in, and nobody else. Yours. */
cJSON *network_policy_of_job(const struct job *job);
