/* How the pods of a job authenticate: the keys between a launcher and its workers, the credentials for the
 * V-IPU controller, and the NetworkPolicy for jobs with a launcher. Pure. */
#pragma once

#include "operator/api/pod/pod_spec.h"

#define POD_SECRETS_KEY_BYTES 32

/* Credentials of a job's pods for their V-IPU controller. Borrowed; NULL: not given. */
struct pod_vipu_credentials {
    const char *user_id, *key; /* both or none */
    const char *ca_pem;
};

/* The Secret of one start. `keys`: with a launcher the concatenated keys of the workers,
 * POD_SECRETS_KEY_BYTES each. Owned by the caller. */
cJSON *pod_secrets_build(const struct job *job, uint32_t instance, uint32_t start, const unsigned char *keys,
                         const struct pod_vipu_credentials *vipu);

/* The first container of `spec` uses the credentials in the Secret of that start. */
struct pod_env;
void pod_secrets_mount(cJSON *spec, struct pod_env *env, const struct job *job, uint32_t instance,
                       const struct partition_placement *place);
/* Allows traffic only between pods of the job. Owned by the caller. */
cJSON *network_policy_of_job(const struct job *job);
