#include "vipu/wire/transport/tls.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

#define RECORD_BYTES ((size_t)16 * 1024)
#define UNHEARD_MAX_BYTES ((size_t)64 * 1024) /* of handshake messages and alerts */
#define RECORD_TYPE_FIRST 20u /* change_cipher_spec, alert, handshake, application_data: RFC 8446, 5.1 */
#define RECORD_TYPE_LAST 23u

struct tls {
    SSL *ssl;
    BIO *in, *out; /* owned by the SSL */
    char *host;    /* of a client */
    char *peer_name;
    bool has_heard;
    unsigned char first_byte; /* of all that arrived */
    bool is_open;
};

static struct tls *tls_new(const struct tls_context *context)
{
    struct tls *tls = NEW(struct tls);

    tls->ssl = SSL_new(tls_context_ssl(context));
    tls->in = BIO_new(BIO_s_mem());
    tls->out = BIO_new(BIO_s_mem());
    if (!tls->ssl || !tls->in || !tls->out)
        abort(); /* out of memory */
    SSL_set_bio(tls->ssl, tls->in, tls->out);
    return tls;
}

static bool is_address(const char *host)
{
    struct in6_addr address;

    return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;
}

struct tls *tls_new_client(const struct tls_context *context, const char *host)
{
    struct tls *tls = tls_new(context);
    X509_VERIFY_PARAM *wanted = SSL_get0_param(tls->ssl);
    size_t len = strlen(host);

    /* A trailing dot tells resolvers that a name is absolute; certificates do not contain it. */
    host = tls->host = mem_strndup(host, len > 1 && host[len - 1] == '.' ? len - 1 : len);
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                                X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (!is_address(host))
        SSL_set_tlsext_host_name(tls->ssl, host); /* RFC 6066: server names are not addresses */
    if (!(is_address(host) ? X509_VERIFY_PARAM_set1_ip_asc(wanted, host)
                           : X509_VERIFY_PARAM_set1_host(wanted, host, 0)))
        abort(); /* out of memory */
    SSL_set_connect_state(tls->ssl);
    return tls;
}

struct tls *tls_new_server(const struct tls_context *context)
{
    struct tls *tls = tls_new(context);

    SSL_set_accept_state(tls->ssl);
    return tls;
}

void tls_free(struct tls *tls)
{
    if (!tls)
        return;
    SSL_free(tls->ssl);
    mem_free(tls->host);
    mem_free(tls->peer_name);
    mem_free(tls);
}

/* One name, of printable ASCII: what a user id can be. */
static char *name_of(const X509 *certificate)
{
    X509_NAME *subject = certificate ? X509_get_subject_name(certificate) : NULL;
    int at = subject ? X509_NAME_get_index_by_NID(subject, NID_commonName, -1) : -1;
    const ASN1_STRING *name = at < 0 ? NULL : X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
    const char *text = name ? (const char *)ASN1_STRING_get0_data(name) : NULL;
    int len = name ? ASN1_STRING_length(name) : 0;

    if (len <= 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0)
        return NULL;
    for (int i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return NULL;
    return mem_strndup(text, (size_t)len);
}

const char *tls_peer_name(const struct tls *tls)
{
    return tls->peer_name;
}

bool tls_is_open(const struct tls *tls)
{
    return tls->is_open;
}

static bool fail_verification(const struct tls *tls, struct err *err)
{
    long verdict = SSL_get_verify_result(tls->ssl);

    if (!tls->host)
        return err_set(err, ERR_DENIED, "the client's certificate is rejected: %s",
                       X509_verify_cert_error_string(verdict));
    switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return err_set(err, ERR_DENIED,
                       "the controller's certificate has expired: ask its admin to renew it");
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return err_set(err, ERR_DENIED, "the controller's certificate is not valid yet: check the clocks");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return err_set(
            err, ERR_DENIED,
            "the controller's certificate is not valid for \"%.64s\": use a host name that it contains",
            tls->host);
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        return err_set(err, ERR_DENIED,
                       "the controller's certificate is signed by an unknown authority: provide its CA "
                       "certificate (--api-ca-cert, or ca.crt in the operator's Secret)");
    default:
        return err_set(err, ERR_DENIED, "certificate verification failed: %s",
                       X509_verify_cert_error_string(verdict));
    }
}

/* Why OpenSSL failed. Its error queue is per thread, so it must be left empty. */
static bool explain(const struct tls *tls, struct err *err)
{
    unsigned long code = ERR_get_error();
    const char *text = ERR_reason_error_string(code);

    ERR_clear_error();
    if (ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED)
        return fail_verification(tls, err);
    if (tls->has_heard && (tls->first_byte < RECORD_TYPE_FIRST || tls->first_byte > RECORD_TYPE_LAST))
        return err_set(err, ERR_IO, "the peer does not speak TLS: is this a cleartext port?");
    if (ERR_GET_REASON(code) == SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL)
        return err_set(err, ERR_IO, "the peer speaks TLS but not HTTP/2: is this a V-IPU controller?");
    return err_set(err, ERR_IO, "TLS: %s", text ? text : "connection reset by peer");
}

/* False if the SSL cannot be used any more; true if it only waits for bytes. */
static bool is_waiting(const struct tls *tls, int result)
{
    return SSL_get_error(tls->ssl, result) == SSL_ERROR_WANT_READ;
}

static bool check_alpn(struct tls *tls, struct err *err)
{
    const unsigned char *name;
    unsigned len;

    SSL_get0_alpn_selected(tls->ssl, &name, &len);
    if (len != 2 || memcmp(name, "h2", 2) != 0)
        return err_set(err, ERR_IO, "the peer speaks TLS but not HTTP/2: is this a V-IPU controller?");
    tls->is_open = true;
    tls->peer_name = name_of(SSL_get0_peer_certificate(tls->ssl));
    return true;
}

bool tls_shake(struct tls *tls, struct err *err)
{
    int result;

    if (tls->is_open)
        return true;
    ERR_clear_error();
    result = SSL_do_handshake(tls->ssl);
    if (result == 1)
        return check_alpn(tls, err);
    return is_waiting(tls, result) || explain(tls, err);
}

void tls_feed(struct tls *tls, const void *bytes, size_t len)
{
    if (len == 0)
        return;
    if (!tls->has_heard) {
        tls->has_heard = true;
        memcpy(&tls->first_byte, bytes, 1);
    }
    if (BIO_write(tls->in, bytes, (int)len) != (int)len)
        abort(); /* out of memory */
}

bool tls_read(struct tls *tls, void *out, size_t room, size_t *ret_len, struct err *err)
{
    int result;

    *ret_len = 0;
    if (!tls_shake(tls, err))
        return false;
    if (!tls->is_open)
        return true;
    if (BIO_ctrl_pending(tls->out) > UNHEARD_MAX_BYTES)
        return err_set(err, ERR_IO, "the peer does not read its TLS responses");
    ERR_clear_error();
    result = SSL_read_ex(tls->ssl, out, room, ret_len);
    if (result == 1 || is_waiting(tls, result))
        return true;
    if (SSL_get_error(tls->ssl, result) == SSL_ERROR_ZERO_RETURN)
        return err_set(err, ERR_IO, "the peer closed the connection");
    return explain(tls, err);
}

bool tls_drain(struct tls *tls, struct str *out, struct err *err)
{
    char *bytes;
    long len = BIO_get_mem_data(tls->out, &bytes);

    if (len > 0 && !str_add(out, bytes, (size_t)len))
        return err_set(err, ERR_IO, "TLS buffer overflow: %ld bytes", len);
    if (len > 0)
        (void)BIO_reset(tls->out);
    return true;
}

bool tls_seal(struct tls *tls, struct slice plain, struct str *out, struct err *err)
{
    while (plain.len) {
        size_t len = plain.len < RECORD_BYTES ? plain.len : RECORD_BYTES, taken;

        ERR_clear_error();
        if (SSL_write_ex(tls->ssl, plain.ptr, len, &taken) != 1)
            return explain(tls, err);
        if (!tls_drain(tls, out, err))
            return false;
        plain = (struct slice){plain.ptr + taken, plain.len - taken};
    }
    return true;
}

void tls_end(struct tls *tls)
{
    if (tls->is_open)
        (void)SSL_shutdown(tls->ssl);
    ERR_clear_error();
}
