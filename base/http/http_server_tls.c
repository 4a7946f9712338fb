#include "base/http/http_server_tls.h"

#include <openssl/err.h>
#include <stdint.h>

#include "base/io/pem.h"

enum { CHAIN_MAX = 8 };

/* A context keeps one certificate of each key type and lets the client choose: only the latest is to be
 * presented, and none of another type. */
static int show_last(SSL *ssl, void *ctx)
{
    SSL_CTX *context = SSL_get_SSL_CTX(ssl);
    STACK_OF(X509) *chain = NULL;

    (void)ctx;
    (void)SSL_CTX_get0_chain_certs(context, &chain);
    SSL_certs_clear(ssl);
    return SSL_use_cert_and_key(ssl, SSL_CTX_get0_certificate(context), SSL_CTX_get0_privatekey(context),
                                chain, 1);
}

void http_server_tls_setup(SSL_CTX *ssl)
{
    (void)SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
    (void)SSL_CTX_set_options(ssl, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    (void)SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
    (void)SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_cert_cb(ssl, show_last, NULL);
}

/* The certificates in their order, the server's own first. */
static int read_chain(const char *pem, X509 *chain[CHAIN_MAX])
{
    BIO *bio = pem_open(pem, INT32_MAX);
    int count = 0;

    while (count < CHAIN_MAX && (chain[count] = pem_next_certificate(bio)))
        count++;
    BIO_free(bio);
    return count;
}

static bool use(SSL_CTX *ssl, X509 *const chain[], int count, EVP_PKEY *key, struct err *err)
{
    if (count == 0)
        return err_set(err, ERR_INVALID, "no PEM certificate found");
    if (!key)
        return err_set(err, ERR_INVALID, "no PEM key without a passphrase found");
    if (X509_check_private_key(chain[0], key) != 1)
        return err_set(err, ERR_INVALID, "the key does not belong to the certificate");
    bool ok = SSL_CTX_use_certificate(ssl, chain[0]) == 1 && SSL_CTX_clear_chain_certs(ssl) == 1;
    for (int i = 1; ok && i < count; i++)
        ok = SSL_CTX_add1_chain_cert(ssl, chain[i]) == 1;
    return (ok && SSL_CTX_use_PrivateKey(ssl, key) == 1) ||
           err_set(err, ERR_INVALID, "certificate rejected by OpenSSL (key too short?)");
}

bool http_server_tls_use(SSL_CTX *ssl, const struct http_server_tls *tls, struct err *err)
{
    X509 *chain[CHAIN_MAX];
    int count = read_chain(tls->certificates, chain);
    EVP_PKEY *key = pem_read_key(tls->key, INT32_MAX);
    bool ok = use(ssl, chain, count, key, err);

    for (int i = 0; i < count; i++)
        X509_free(chain[i]);
    EVP_PKEY_free(key);
    ERR_clear_error(); /* the error queue is per thread, so it must be left empty */
    return ok;
}
