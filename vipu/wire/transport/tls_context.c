#include "vipu/wire/transport/tls_context.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <time.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "base/io/pem.h"

/* With forward secrecy and AEAD: what RFC 9113, appendix A, leaves for HTTP/2. */
#define TLS12_CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"

/* ALPN's name of HTTP/2, with its length in front. */
static const unsigned char alpn_h2[] = {2, 'h', '2'};

struct tls_context {
    SSL_CTX *ssl;
};

/* OpenSSL fails to make an empty object only when there is no memory. */
static void *must(void *made)
{
    if (!made)
        abort();
    return made;
}

static const char *reason(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_last_error());

    return text ? text : "no reason given by OpenSSL";
}

static struct tls_context *context_new(const SSL_METHOD *method)
{
    struct tls_context *context = NEW(struct tls_context);

    context->ssl = must(SSL_CTX_new(method));
    SSL_CTX_set_min_proto_version(context->ssl, TLS1_2_VERSION);
    /* Those of TLS 1.3 have no others. */
    if (SSL_CTX_set_cipher_list(context->ssl, TLS12_CIPHERS) != 1)
        abort();
    SSL_CTX_set_options(context->ssl, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    SSL_CTX_set_mode(context->ssl, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context->ssl, SSL_SESS_CACHE_OFF);
    return context;
}

void tls_context_free(struct tls_context *context)
{
    if (!context)
        return;
    SSL_CTX_free(context->ssl);
    mem_free(context);
}

struct ssl_ctx_st *tls_context_ssl(const struct tls_context *context)
{
    return context->ssl;
}

static BIO *bio_of(const struct str *pem)
{
    return must(BIO_new_mem_buf(pem->ptr ? pem->ptr : "", (int)pem->len));
}

/* OpenSSL's error queue is per thread, so it must be left empty. */
static void close_pem(BIO *bio)
{
    BIO_free(bio);
    ERR_clear_error();
}

/* NULL if there is no further certificate; *bad says that the rest of the file is damaged. */
static X509 *next_certificate(BIO *bio, bool *bad)
{
    X509 *certificate;

    ERR_clear_error();
    certificate = PEM_read_bio_X509(bio, NULL, pem_no_passphrase, NULL);
    *bad = !certificate && ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE;
    return certificate;
}

static bool use_certificate(SSL_CTX *ssl, X509 *certificate, size_t position)
{
    return (position == 0 ? SSL_CTX_use_certificate(ssl, certificate)
                          : SSL_CTX_add1_chain_cert(ssl, certificate)) == 1;
}

/* Adds each certificate of the file by `use`; ERR_INVALID if there is none, or one that cannot be used. */
static bool each_certificate(const char *file, bool (*use)(SSL_CTX *ssl, X509 *certificate, size_t position),
                             SSL_CTX *ssl, struct err *err)
{
    AUTO(str) struct str pem = {0};
    size_t count = 0;
    bool bad, ok = true;
    X509 *certificate;
    BIO *bio;

    if (!file_read(file, TLS_FILE_MAX_BYTES, &pem, err))
        return false;
    bio = bio_of(&pem);
    while (ok && (certificate = next_certificate(bio, &bad))) {
        ok = use(ssl, certificate, count++) ||
             err_set(err, ERR_INVALID, "%s: certificate %zu: %s", file, count, reason());
        X509_free(certificate);
    }
    if (ok && bad)
        ok = err_set(err, ERR_INVALID, "%s: certificate %zu: %s", file, count + 1, reason());
    else if (ok && count == 0)
        ok = err_set(err, ERR_INVALID, "%s: no PEM certificate found", file);
    close_pem(bio);
    return ok;
}

static bool use_key(SSL_CTX *ssl, const char *file, struct err *err)
{
    AUTO(str) struct str pem = {0};
    EVP_PKEY *key;
    bool ok = true;
    BIO *bio;

    if (!file_read(file, TLS_FILE_MAX_BYTES, &pem, err))
        return false;
    bio = bio_of(&pem);
    ERR_clear_error();
    key = PEM_read_bio_PrivateKey(bio, NULL, pem_no_passphrase, NULL);
    if (!key)
        ok = err_set(err, ERR_INVALID, "%s: no PEM private key without a passphrase found", file);
    else if (SSL_CTX_use_PrivateKey(ssl, key) != 1)
        ok = err_set(err, ERR_INVALID, "%s: cannot use the private key: %s", file, reason());
    EVP_PKEY_free(key);
    close_pem(bio);
    OPENSSL_cleanse(pem.ptr, pem.len);
    return ok;
}

static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *offered,
                   unsigned offered_len, void *ctx)
{
    unsigned char *chosen;

    (void)ssl;
    (void)ctx;
    if (SSL_select_next_proto(&chosen, out_len, alpn_h2, sizeof(alpn_h2), offered, offered_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static bool use_authority(SSL_CTX *ssl, X509 *certificate, size_t position)
{
    (void)position;
    return X509_STORE_add_cert(SSL_CTX_get_cert_store(ssl), certificate) == 1;
}

/* Clients choose one of their certificates by the names of these. */
static bool use_client_authority(SSL_CTX *ssl, X509 *certificate, size_t position)
{
    return use_authority(ssl, certificate, position) && SSL_CTX_add_client_CA(ssl, certificate) == 1;
}

static bool is_given(const char *file)
{
    return file && *file;
}

static bool note(bool ok, const struct err *err, struct strv *problems)
{
    if (!ok)
        strv_push(problems, err->msg);
    return ok;
}

struct tls_context *tls_context_server(const struct tls_files *files, struct strv *problems)
{
    struct tls_context *context = context_new(TLS_server_method());
    struct err err;
    bool has_certificate, has_key, has_ca;

    SSL_CTX_set_num_tickets(context->ssl, 0);
    SSL_CTX_set_alpn_select_cb(context->ssl, on_alpn, NULL);
    has_certificate =
        note(each_certificate(files->certificate, use_certificate, context->ssl, &err), &err, problems);
    /* OpenSSL compares the key with the certificate, if there is one. */
    has_key = note(use_key(context->ssl, files->key, &err), &err, problems);
    has_ca = !is_given(files->ca) ||
             note(each_certificate(files->ca, use_client_authority, context->ssl, &err), &err, problems);
    if (is_given(files->ca))
        SSL_CTX_set_verify(context->ssl, SSL_VERIFY_PEER, NULL);
    if (has_certificate && has_key && has_ca)
        return context;
    tls_context_free(context);
    return NULL;
}

static int64_t expiry_of(const X509 *certificate)
{
    struct tm when;

    return ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &when) == 1 ? (int64_t)timegm(&when) : 1;
}

int64_t tls_context_expiry_s(const struct tls_context *context)
{
    const X509 *leaf = context ? SSL_CTX_get0_certificate(context->ssl) : NULL;
    STACK_OF(X509) *chain = NULL;
    int64_t first = leaf ? expiry_of(leaf) : 0;

    if (leaf)
        SSL_CTX_get0_chain_certs(context->ssl, &chain);
    for (int i = 0; i < sk_X509_num(chain); i++) {
        int64_t expiry = expiry_of(sk_X509_value(chain, i));

        first = expiry < first ? expiry : first;
    }
    return first;
}

static bool use_own(SSL_CTX *ssl, const struct tls_files *files, struct err *err)
{
    return !is_given(files->certificate) ||
           (each_certificate(files->certificate, use_certificate, ssl, err) &&
            use_key(ssl, is_given(files->key) ? files->key : files->certificate, err));
}

static bool use_ca(SSL_CTX *ssl, const char *file, struct err *err)
{
    if (is_given(file))
        return each_certificate(file, use_authority, ssl, err);
    return SSL_CTX_set_default_verify_paths(ssl) == 1 ||
           err_set(err, ERR_INVALID, "cannot load the system's CA certificates: %s", reason());
}

struct tls_context *tls_context_client(const struct tls_files *files, struct err *err)
{
    struct tls_context *context = context_new(TLS_client_method());

    SSL_CTX_set_verify(context->ssl, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_alpn_protos(context->ssl, alpn_h2, sizeof(alpn_h2));
    ERR_clear_error();
    if (use_ca(context->ssl, files->ca, err) && use_own(context->ssl, files, err))
        return context;
    tls_context_free(context);
    return NULL;
}
