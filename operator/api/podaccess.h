/* Who knows whom by what, in the pods of a job: the keys that a launcher and its workers have of each other,
 * what a V-IPU controller takes the pods for, and the NetworkPolicy around those with a launcher. Pure. */
#pragma once

#include "operator/api/podspec.h"

#define PODACCESS_KEY_BYTES 32

/* What a job's pods are given for their V-IPU controller. Borrowed; NULL: not that. */
struct podaccess_vipu {
    const char *user_id, *key; /* both or none */
    const char *ca_pem;
};

/* The Secret of one start. `keys`: with a launcher one for each worker, PODACCESS_KEY_BYTES each, one behind
 * the other. Yours. */
cJSON *podaccess_secret(const struct job *job, uint32_t instance, uint32_t start, const unsigned char *keys,
                        const struct podaccess_vipu *vipu);

/* In a pod of that start: the first container of `spec` asks the controller with what the Secret holds. */
struct podenv;
void podaccess_show(cJSON *spec, struct podenv *env, const struct job *job, uint32_t instance,
                    const struct podspec_place *place);
/* Lets pods of the job in, and nobody else. Yours. */
cJSON *podaccess_network_policy(const struct job *job);
