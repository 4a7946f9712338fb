/* The TLS of one connection, as a transformation of bytes: records that arrived are decrypted, bytes to be
 * sent are encrypted into records. It has no socket, waits for nothing, and keeps nothing that it was given
 * to send: a caller that drops the records has sent nothing.
 *
 * It rejects peers that do not speak TLS 1.2 or newer with HTTP/2 and, as a client, certificates that no
 * known CA has signed or that are not for this host. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/wire/transport/tls_context.h"

struct tls;

struct tls *tls_new_client(const struct tls_context *context,
                           const char *host); /* a DNS name or an address */
struct tls *tls_new_server(const struct tls_context *context);
void tls_free(struct tls *tls); /* accepts NULL */

bool tls_is_open(const struct tls *tls); /* the handshake is done */

/* The common name of the peer's certificate, which was verified; NULL: it has none, or shows none. */
const char *tls_peer_name(const struct tls *tls);

/* Continues the handshake as far as the received bytes allow; does nothing when open. */
MUST_USE bool tls_shake(struct tls *tls, struct err *err);
/* Bytes that arrived; all of them are consumed. */
void tls_feed(struct tls *tls, const void *bytes, size_t len);
/* The next decrypted bytes; 0 if more have to arrive first. False: the connection cannot continue;
 * ERR_DENIED for a certificate that is not trusted, ERR_IO otherwise. */
MUST_USE bool tls_read(struct tls *tls, void *out, size_t room, size_t *ret_len, struct err *err);

/* Appends the records of an open connection. */
MUST_USE bool tls_seal(struct tls *tls, struct slice plain, struct str *out, struct err *err);
/* Appends handshake messages and alerts. */
MUST_USE bool tls_drain(struct tls *tls, struct str *out, struct err *err);
/* Sends close_notify; tls_drain returns it. */
void tls_end(struct tls *tls);
