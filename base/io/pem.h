/* Certificates and keys in PEM, from memory. A key with a passphrase cannot be read: OpenSSL would ask at
 * the terminal. What cannot be read is NULL, and leaves OpenSSL's error queue, which is per thread, empty. */
#pragma once

#include <openssl/pem.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/str.h"

/* For OpenSSL's readers: there is no passphrase. */
int pem_no_passphrase(char *out, int size, int writing, void *ctx);
/* At most `max` bytes of the text; NULL is an empty one. Never NULL; borrows the text; free it with
 * BIO_free. */
BIO *pem_open(const char *text, size_t max);
X509 *pem_next_certificate(BIO *bio); /* owned by the caller */
void pem_add_certificate(struct str *out, X509 *certificate);
bool pem_has_ended(const X509 *certificate, int64_t now_s); /* now_s: seconds since 1970 */
EVP_PKEY *pem_read_key(const char *text, size_t max);       /* owned by the caller */
