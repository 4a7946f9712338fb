/* What TLS connections of one side share: the server's certificate and key, or the CAs that a client trusts.
 * TLS 1.2 or newer, HTTP/2 only (ALPN), no renegotiation, no resumption. A context may be freed while
 * connections use it: each keeps a reference. Files are read completely, here, and never again. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"

#define TLS_FILE_MAX_BYTES ((size_t)1024 * 1024)

struct tls_context;
struct ssl_ctx_st;

/* PEM files of one side. Borrowed. */
struct tls_files {
    const char *certificate; /* with its chain, leaf first; a client's may be NULL or "" */
    const char *key;         /* NULL or "": in the same file */
    const char *ca; /* whom the other side's certificate has to be signed by. A client: NULL or "" are the
                       system's CA certificates; a server: NULL or "" means that it asks for none */
};

/* NULL: `problems` has one sentence per mistake, in any of the files. A client without a certificate is
 * accepted; one with a certificate of another CA is not. */
struct tls_context *tls_context_server(const struct tls_files *files, struct strv *problems);
/* NULL: err says what is wrong with the files. */
struct tls_context *tls_context_client(const struct tls_files *files, struct err *err);
/* When the first certificate of the server's chain expires, in Unix seconds; 0: not a server's. */
int64_t tls_context_expiry_s(const struct tls_context *context);
void tls_context_free(struct tls_context *context); /* accepts NULL */

struct ssl_ctx_st *tls_context_ssl(const struct tls_context *context); /* OpenSSL's; for tls.c only */
