/* What TLS connections of one side share: the server's certificate and key, or the CAs that a client trusts.
 * TLS 1.2 or newer, HTTP/2 only (ALPN), no renegotiation, no resumption. A context may be freed while
 * connections use it: each keeps a reference. Files are read completely, here, and never again. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"

#define TLS_FILE_MAX_BYTES ((size_t)1024 * 1024)

struct tls_context;
struct ssl_ctx_st;

/* The server's certificate with its chain, leaf first, and the private key, both PEM. NULL: `problems` has
 * one sentence per mistake, in either file. */
struct tls_context *tls_context_server(const char *certificate_file, const char *key_file,
                                       struct strv *problems);
/* ca_file NULL or "": the system's CA certificates. NULL: err says what is wrong with the file. */
struct tls_context *tls_context_client(const char *ca_file, struct err *err);
void tls_context_free(struct tls_context *context); /* accepts NULL */

struct ssl_ctx_st *tls_context_ssl(const struct tls_context *context); /* OpenSSL's; for tls.c only */
