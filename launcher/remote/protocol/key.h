/* Keys: each worker has one, a file of exactly IDENTITY_KEY_BYTES random bytes that the operator has made. A
 * worker has its own only, a launcher those of all its workers. What they open is one side of connections. */
#pragma once

#include "launcher/env/envv.h"
#include "launcher/env/identity.h"
#include "launcher/remote/protocol/psk.h"

/* Other places than the pod's; for tests and for use outside Kubernetes. */
#define KEY_ENV_FILE "IPU_JOB_KEY_FILE"
#define KEY_ENV_DIR "IPU_JOB_KEYS_DIR"
#define KEY_FILE "/var/run/ipu-launch/key"
#define KEY_DIR "/var/run/ipu-launch/keys" /* a launcher's: one file for each worker, named by its index */

/* The worker that this pod is. */
MUST_USE bool key_open_agent(const struct envv *env, struct identity *ret, struct psk_context **ret_tls,
                             struct err *err);
/* Somebody in the same pod who asks the agent something. */
MUST_USE bool key_open_local(const struct envv *env, struct psk_context **ret_tls, struct err *err);
/* The launcher, towards one worker. */
MUST_USE bool key_open_launcher(const struct envv *env, uint32_t worker, struct psk_context **ret_tls,
                                struct err *err);
