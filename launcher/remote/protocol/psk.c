#include "launcher/remote/protocol/psk.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <string.h>

#include "base/core/mem.h"

/* Plain pre-shared keys are used with the hash of this suite. */
#define SUITE "TLS_AES_128_GCM_SHA256"

struct psk_context {
    SSL_CTX *ctx;
    uint8_t key[IDENTITY_KEY_BYTES];
    char identity[IDENTITY_TEXT_MAX];
};

struct psk {
    SSL *ssl;
    int fd;
    short events;
    const struct psk_context *context;
    psk_accepts_fn admits;
    void *ctx;
};

static unsigned give_key(const struct psk *tls, unsigned char *key, unsigned max)
{
    if (max < IDENTITY_KEY_BYTES)
        return 0;
    memcpy(key, tls->context->key, IDENTITY_KEY_BYTES);
    return IDENTITY_KEY_BYTES;
}

static unsigned on_server_key(SSL *ssl, const char *identity, unsigned char *key, unsigned max)
{
    struct psk *tls = SSL_get_app_data(ssl);

    return identity && tls->admits(tls->ctx, identity) ? give_key(tls, key, max) : 0;
}

static unsigned on_client_key(SSL *ssl, const char *hint, char *identity, unsigned identity_max,
                              unsigned char *key, unsigned max)
{
    struct psk *tls = SSL_get_app_data(ssl);
    size_t len = strlen(tls->context->identity);

    (void)hint;
    if (len >= identity_max)
        return 0;
    memcpy(identity, tls->context->identity, len + 1);
    return give_key(tls, key, max);
}

/* Fails only without memory, or with a library that lacks the function. */
static struct psk_context *context_new(const SSL_METHOD *method, const uint8_t *key)
{
    struct psk_context *context = NEW(struct psk_context);

    (void)OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
    context->ctx = SSL_CTX_new(method);
    if (!context->ctx || !SSL_CTX_set_min_proto_version(context->ctx, TLS1_3_VERSION) ||
        !SSL_CTX_set_ciphersuites(context->ctx, SUITE))
        abort();
    SSL_CTX_set_mode(context->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                       SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context->ctx, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_num_tickets(context->ctx, 0);
    memcpy(context->key, key, IDENTITY_KEY_BYTES);
    return context;
}

struct psk_context *psk_client_context(const char *identity, const uint8_t key[IDENTITY_KEY_BYTES])
{
    struct psk_context *context = context_new(TLS_client_method(), key);

    memcpy(context->identity, identity, strnlen(identity, IDENTITY_TEXT_MAX - 1));
    /* A server that offers a certificate in place of the key is not an agent, and no CA is trusted. */
    SSL_CTX_set_verify(context->ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_psk_client_callback(context->ctx, on_client_key);
    return context;
}

struct psk_context *psk_server_context(const uint8_t key[IDENTITY_KEY_BYTES])
{
    struct psk_context *context = context_new(TLS_server_method(), key);

    SSL_CTX_set_psk_server_callback(context->ctx, on_server_key);
    return context;
}

void psk_context_free(struct psk_context *context)
{
    if (!context)
        return;
    SSL_CTX_free(context->ctx);
    OPENSSL_cleanse(context->key, sizeof(context->key));
    mem_free(context);
}

static struct psk *psk_new(struct psk_context *context, int fd)
{
    struct psk *tls = NEW(struct psk);

    *tls = (struct psk){.ssl = SSL_new(context->ctx), .fd = fd, .events = POLLIN, .context = context};
    if (!tls->ssl || !SSL_set_fd(tls->ssl, fd))
        abort();
    SSL_set_app_data(tls->ssl, tls);
    return tls;
}

struct psk *psk_client_new(struct psk_context *context, int fd)
{
    struct psk *tls = psk_new(context, fd);

    SSL_set_connect_state(tls->ssl);
    return tls;
}

struct psk *psk_server_new(struct psk_context *context, int fd, psk_accepts_fn admits, void *ctx)
{
    struct psk *tls = psk_new(context, fd);

    tls->admits = admits;
    tls->ctx = ctx;
    SSL_set_accept_state(tls->ssl);
    return tls;
}

void psk_detach(struct psk *tls)
{
    if (!tls)
        return;
    SSL_free(tls->ssl);
    fd_auto(&tls->fd);
    mem_free(tls);
}

void psk_close(struct psk *tls)
{
    if (tls && SSL_is_init_finished(tls->ssl)) {
        ERR_clear_error();
        (void)SSL_shutdown(tls->ssl);
    }
    psk_detach(tls);
}

int psk_fd(const struct psk *tls)
{
    return tls->fd;
}

short psk_events(const struct psk *tls)
{
    return tls->events;
}

bool psk_has_more(const struct psk *tls)
{
    return SSL_has_pending(tls->ssl);
}

static enum psk_outcome outcome(struct psk *tls, int result)
{
    switch (SSL_get_error(tls->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        tls->events = POLLIN;
        return PSK_AGAIN;
    case SSL_ERROR_WANT_WRITE:
        tls->events = POLLIN | POLLOUT;
        return PSK_AGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return PSK_CLOSED;
    default:
        return PSK_FAILED;
    }
}

enum psk_outcome psk_handshake(struct psk *tls, bool *ret_denied)
{
    int result;

    ERR_clear_error();
    result = SSL_do_handshake(tls->ssl);
    *ret_denied = false;
    if (result == 1)
        /* Only a pre-shared key makes a first connection look like a resumed one. */
        *ret_denied = !SSL_session_reused(tls->ssl);
    if (result == 1)
        return *ret_denied ? PSK_FAILED : PSK_DONE;
    if (outcome(tls, result) == PSK_AGAIN)
        return PSK_AGAIN;
    *ret_denied = ERR_GET_LIB(ERR_peek_error()) == ERR_LIB_SSL &&
                  ERR_GET_REASON(ERR_peek_error()) != SSL_R_UNEXPECTED_EOF_WHILE_READING;
    return PSK_FAILED;
}

static int at_most(size_t len)
{
    return len < INT_MAX ? (int)len : INT_MAX;
}

enum psk_outcome psk_read(struct psk *tls, void *bytes, size_t max, size_t *ret_len)
{
    int got;

    ERR_clear_error();
    got = SSL_read(tls->ssl, bytes, at_most(max));
    *ret_len = got > 0 ? (size_t)got : 0;
    return got > 0 ? PSK_DONE : outcome(tls, got);
}

enum psk_outcome psk_write(struct psk *tls, const void *bytes, size_t len, size_t *ret_len)
{
    int put;

    ERR_clear_error();
    put = SSL_write(tls->ssl, bytes, at_most(len));
    *ret_len = put > 0 ? (size_t)put : 0;
    return put > 0 ? PSK_DONE : outcome(tls, put);
}
