/* The TLS of one connection, as a transformer of bytes: what arrived goes in and comes out in the clear, what
 * is to be sent comes out as records. It has no socket, waits for nothing, and keeps nothing that it was
 * given to send: a caller that drops the records has sent nothing.
 *
 * It refuses peers that do not speak TLS 1.2 or newer with HTTP/2 on it, and, as a client, certificates that
 * are not of a known authority or not for this host. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/wire/transport/tls_context.h"

struct tls;

struct tls *tls_new_client(const struct tls_context *context, const char *host); /* a name or an address */
struct tls *tls_new_server(const struct tls_context *context);
void tls_free(struct tls *tls); /* NULL is fine */

bool tls_is_open(const struct tls *tls); /* the handshake is done */

/* Goes on with the handshake as far as what was fed allows; nothing to do when open. */
MUST_USE bool tls_shake(struct tls *tls, struct err *err);
/* What arrived; all of it is taken. */
void tls_feed(struct tls *tls, const void *bytes, size_t len);
/* The next bytes of what was fed, in the clear; 0 when more has to arrive first. False: the connection cannot
 * go on; ERR_DENIED for a certificate that is not believed, ERR_IO otherwise. */
MUST_USE bool tls_read(struct tls *tls, void *out, size_t room, size_t *ret_len, struct err *err);

/* Appends the records of an open connection. */
MUST_USE bool tls_seal(struct tls *tls, struct slice plain, struct str *out, struct err *err);
/* Appends what TLS itself has to say: handshake and alerts. */
MUST_USE bool tls_drain(struct tls *tls, struct str *out, struct err *err);
/* Says that nothing follows; tls_drain has it. */
void tls_end(struct tls *tls);
