/* Connects to an agent: TCP and handshake. A pod's network may need a moment, so it retries for a while if
 * there is no response; a rejection of the key is final. */
#pragma once

#include <netinet/in.h>

#include "base/core/err.h"
#include "launcher/remote/protocol/psk.h"

#define DIAL_TIMEOUT_MS 30000

/* ERR_DENIED: the agent is not of this job, attempt or worker. ERR_IO, ERR_TIMEOUT: no response. */
MUST_USE bool dial(struct psk_context *context, const struct sockaddr_storage *address, socklen_t len,
                   struct psk **ret, struct err *err);
/* The same without retries. */
MUST_USE bool dial_once(struct psk_context *context, const struct sockaddr_storage *address, socklen_t len,
                        struct psk **ret, struct err *err);
