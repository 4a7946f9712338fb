/* TLS of one connection of the live page: between what is on the wire and the plain bytes. Knows no sockets.
 */
#pragma once

#include <openssl/ssl.h>

#include "base/core/str.h"

struct page_tls;

struct page_tls *page_tls_new(SSL_CTX *context);
void page_tls_free(struct page_tls *tls); /* accepts NULL */

void page_tls_receive(struct page_tls *tls, struct slice wire);
/* Plain bytes that have arrived; 0: none yet; negative: they end here, or are no TLS. */
int page_tls_read(struct page_tls *tls, char *ret, size_t room);

/* Append what goes to the peer. */
void page_tls_write(struct page_tls *tls, struct slice plain, struct str *wire);
void page_tls_flush(struct page_tls *tls, struct str *wire); /* of handshakes */
void page_tls_end(struct page_tls *tls, struct str *wire);   /* the last one; may be repeated */
size_t page_tls_unsent(const struct page_tls *tls);          /* bytes for page_tls_flush */
