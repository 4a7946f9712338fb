/* Who may reach the pods of a job with a launcher: the keys that launcher and workers know each other by, and
 * the NetworkPolicy around them. Pure. */
#pragma once

#include "operator/api/job.h"

#define PODACCESS_KEY_BYTES 32

/* The Secret of one start: a key for each worker, PODACCESS_KEY_BYTES each, one behind the other. Yours. */
cJSON *podaccess_keys(const struct job *job, uint32_t instance, uint32_t start, const unsigned char *keys);
/* Lets pods of the job in, and nobody else. Yours. */
cJSON *podaccess_network_policy(const struct job *job);
