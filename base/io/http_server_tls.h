/* The certificate of a TLS server, put in place from memory while the server runs. Internal to the serve
 * room. Connections that are open keep the certificate they began with. */
#pragma once

#include <openssl/ssl.h>

#include "base/core/err.h"
#include "base/io/http_server.h"

/* What it offers and refuses, whatever the certificate. */
void http_server_tls_setup(SSL_CTX *ssl);
/* ERR_INVALID: what was in place stays. */
MUST_USE bool http_server_tls_use(SSL_CTX *ssl, const struct http_server_tls *tls, struct err *err);
