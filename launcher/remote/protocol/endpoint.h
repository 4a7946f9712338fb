/* The address of an agent, and sockets to and from it. Addresses are numeric; no names are resolved. */
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/core/err.h"
#include "launcher/env/envv.h"

#define ENDPOINT_ENV_PORT "IPU_JOB_AGENT_PORT"
/* An address of the pod to listen on; absent: all. */
#define ENDPOINT_ENV_ADDRESS "IPU_JOB_ADDRESS"

#define ENDPOINT_TEXT_MAX 64u
#define ENDPOINT_ADDRESS_BYTES 16u /* IPv6; an IPv4 address as ::ffff:a.b.c.d */

/* ERR_INVALID names what is missing or invalid. */
MUST_USE bool endpoint_listen(const struct envv *env, int *ret, struct err *err);
/* Socket of the next connection; -1 if none is waiting. */
int endpoint_accept(int listener, uint8_t ret_address[ENDPOINT_ADDRESS_BYTES],
                    char ret_text[ENDPOINT_TEXT_MAX]);
/* The address of this pod's own agent from within the pod. */
MUST_USE bool endpoint_own(const struct envv *env, struct sockaddr_storage *ret, socklen_t *ret_len,
                           struct err *err);
/* Tries once, until deadline_ms. ERR_IO, ERR_TIMEOUT. */
MUST_USE bool endpoint_connect(const struct sockaddr_storage *address, socklen_t len, int64_t deadline_ms,
                               int *ret, struct err *err);
