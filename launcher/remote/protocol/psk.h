/* TLS 1.3 with a pre-shared key and (EC)DHE over a connected non-blocking socket. No certificates: a peer
 * without the key gets no connection, whichever side it is. Sessions are not resumed, and the image's
 * OpenSSL configuration is not read. psk.c is the only file that names SSL_*. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "launcher/env/identity.h"

struct psk_context; /* one side of a program: its settings for connections */
struct psk;

/* Whether to accept the client that presents this identity; ctx is psk_server_new's.
 */
typedef bool (*psk_accepts_fn)(void *ctx, const char *pending_conn);

/* Both copy the key. */
struct psk_context *psk_client_context(const char *identity, const uint8_t key[IDENTITY_KEY_BYTES]);
struct psk_context *psk_server_context(const uint8_t key[IDENTITY_KEY_BYTES]);
void psk_context_free(struct psk_context *context);

/* Takes ownership of the socket. */
struct psk *psk_client_new(struct psk_context *context, int fd);
struct psk *psk_server_new(struct psk_context *context, int fd, psk_accepts_fn admits, void *ctx);
/* Sends close_notify first. */
void psk_close(struct psk *tls);
/* Sends nothing: a forked process continues with the connection. */
void psk_detach(struct psk *tls);

int psk_fd(const struct psk *tls);
short psk_events(const struct psk *tls);  /* events of poll that the last call needs */
bool psk_has_more(const struct psk *tls); /* can be read without waiting for the socket */

enum psk_outcome { PSK_DONE, PSK_AGAIN, PSK_CLOSED, PSK_FAILED };

/* PSK_FAILED: *ret_denied says whether the peer responded and rejected the key. */
enum psk_outcome psk_handshake(struct psk *tls, bool *ret_denied);
enum psk_outcome psk_read(struct psk *tls, void *bytes, size_t max, size_t *ret_len);
enum psk_outcome psk_write(struct psk *tls, const void *bytes, size_t len, size_t *ret_len);
