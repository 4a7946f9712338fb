/* Keys: each worker has one, a file of exactly IDENTITY_KEY_BYTES random bytes that the operator has
 * created. A worker has only its own, a launcher those of all its workers. They authenticate one side of a
 * connection. */
#pragma once

#include "launcher/env/envv.h"
#include "launcher/env/identity.h"
#include "launcher/remote/protocol/psk.h"

/* Other folders than the pod's; for tests and for use outside Kubernetes. */
#define KEY_ENV_FILE "IPU_JOB_KEY_FILE"
#define KEY_ENV_DIR "IPU_JOB_KEYS_DIR"
#define KEY_FILE "/var/run/ipu-launch/key"
#define KEY_DIR "/var/run/ipu-launch/keys" /* a launcher's: one file per worker, named by its index */

/* The worker of this pod. */
MUST_USE bool key_open_agent(const struct envv *env, struct identity *ret, struct psk_context **ret_tls,
                             struct err *err);
/* A client in the same pod as the agent. */
MUST_USE bool key_open_local(const struct envv *env, struct psk_context **ret_tls, struct err *err);
/* The launcher, for one worker. */
MUST_USE bool key_open_launcher(const struct envv *env, uint32_t worker, struct psk_context **ret_tls,
                                struct err *err);
