/* Certificates and keys in PEM, from memory. A key with a passphrase cannot be read: OpenSSL would ask at the
 * terminal. What cannot be read is NULL, and leaves nothing in OpenSSL's queue of errors, which is the
 * thread's. */
#pragma once

#include <openssl/pem.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/str.h"

/* For OpenSSL's readers: there is none. */
int pem_no_passphrase(char *out, int size, int writing, void *ctx);
/* At most `max` bytes of the text; NULL is an empty one. Never NULL; borrows the text; BIO_free it. */
BIO *pem_open(const char *text, size_t max);
X509 *pem_next_certificate(BIO *bio); /* yours */
void pem_add_certificate(struct str *out, X509 *certificate);
bool pem_has_ended(const X509 *certificate, int64_t now_s); /* now_s: seconds since 1970 */
EVP_PKEY *pem_read_key(const char *text, size_t max);       /* yours */
