/* The Secret of a V-IPU controller: the operator's user, the controller's CA, and the user of job pods or
 * what their partitions' keys are derived from. Read from the files that the Secret is mounted as, one
 * directory each; no other file reads them, nothing of it is ever part of a message, and keys are wiped from
 * memory when they are released. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "operator/pool/config.h"

#define ACCESS_USER_ID "user-id"
#define ACCESS_KEY "access-key"
#define ACCESS_CA "ca.crt"
#define ACCESS_CERTIFICATE "client.crt"
#define ACCESS_CERTIFICATE_KEY "client.key"
#define ACCESS_JOB_USER_ID "job-user-id"
#define ACCESS_JOB_KEY "job-access-key"
#define ACCESS_PARTITION_SECRET "partition-secret"

struct controller_secret { /* owned; NULL: not there */
    char *user_id, *key;
    char *ca_pem, *ca_file;                                    /* both or none */
    char *cert_pem, *cert_file, *cert_key_pem, *cert_key_file; /* the operator's certificate; all or none */
    char *job_user_id, *job_key;
    char *partition_secret; /* the keys of partitions are derived from it; not together with a job's user */
};

/* Replaces *ret. ERR_INVALID with everything that is wrong with the Secret; *ret is untouched then. */
MUST_USE bool controller_secret_read(const char *folder, struct controller_secret *ret, struct err *err);
bool controller_secret_equal(const struct controller_secret *a, const struct controller_secret *b);
void controller_secret_release(struct controller_secret *secret);

/* Access denied, or TLS verification failed: adds which Secret to check. `sent`: it
 * has been asked, so that the key is what it does not like. Other errors stay as they are. */
void controller_secret_explain_error(const struct vipu_controller_config *config, bool sent, struct err *err);

static inline void controller_secret_auto(struct controller_secret *secret)
{
    controller_secret_release(secret);
}
