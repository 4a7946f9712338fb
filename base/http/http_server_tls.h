/* The certificate of a TLS server, set from memory while the server runs. Open connections keep the
 * certificate they started with. */
#pragma once

#include <openssl/ssl.h>

#include "base/core/err.h"
#include "base/http/http_server.h"

/* TLS settings that are independent of the certificate. */
void http_server_tls_setup(SSL_CTX *ssl);
/* ERR_INVALID: the current certificate stays. */
MUST_USE bool http_server_tls_use(SSL_CTX *ssl, const struct http_server_tls *tls, struct err *err);
