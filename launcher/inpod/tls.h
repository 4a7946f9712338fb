/* TLS 1.3 with a pre-shared key and (EC)DHE over a connected socket that does not block. No certificates: a
 * peer without the key gets no connection, whichever side it is. Nothing is resumed, and nothing is read
 * from the image's OpenSSL configuration. tls.c is the only file that names SSL_*. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "launcher/inpod/identity.h"

struct tls_context; /* one side of a program: how its connections are made */
struct tls;

/* Whether a caller that names itself `caller` is told apart by the key; ctx is tls_server_new's. */
typedef bool (*tls_admits_fn)(void *ctx, const char *caller);

/* Both copy the key. */
struct tls_context *tls_client_context(const char *identity, const uint8_t key[IDENTITY_KEY_BYTES]);
struct tls_context *tls_server_context(const uint8_t key[IDENTITY_KEY_BYTES]);
void tls_context_free(struct tls_context *context);

/* The socket moves in. */
struct tls *tls_client_new(struct tls_context *context, int fd);
struct tls *tls_server_new(struct tls_context *context, int fd, tls_admits_fn admits, void *ctx);
/* Says goodbye first. */
void tls_close(struct tls *tls);
/* Says nothing: a process that was forked goes on with the connection. */
void tls_forget(struct tls *tls);

int tls_fd(const struct tls *tls);
short tls_events(const struct tls *tls);  /* of poll, that the last call waits for */
bool tls_has_more(const struct tls *tls); /* to read, without waiting for the socket */

enum tls_outcome { TLS_DONE, TLS_AGAIN, TLS_CLOSED, TLS_FAILED };

/* TLS_FAILED: *ret_denied tells whether the peer was there and the key was the reason. */
enum tls_outcome tls_shake(struct tls *tls, bool *ret_denied);
enum tls_outcome tls_read(struct tls *tls, void *bytes, size_t max, size_t *ret_len);
enum tls_outcome tls_write(struct tls *tls, const void *bytes, size_t len, size_t *ret_len);
