#include "launcher/progress/report.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "launcher/progress/request.h"

enum { TIMEOUT_S = 5, RETRY_MS = 10, TOKEN_MAX_BYTES = 64 * 1024, ANSWER_MAX_BYTES = 4096 };

#define URL "KUBEFLOW_TRAINER_SERVER_URL"
#define CA "KUBEFLOW_TRAINER_SERVER_CA_CERT"
#define TOKEN "KUBEFLOW_TRAINER_SERVER_TOKEN"

static bool read_setting(const char *name, const char **ret, struct err *err)
{
    *ret = getenv(name);
    return (*ret && **ret) ||
           err_set(err, ERR_NOT_FOUND,
                   "%s is not set: the operator accepts no reports of progress, or this is no job's pod",
                   name);
}

/* Not longer than the program would wait: it stands still meanwhile. */
static void limit_waiting(BIO *bio)
{
    struct timeval limit = {.tv_sec = TIMEOUT_S};
    int fd = -1;

    if (BIO_get_fd(bio, &fd) < 0)
        return;
    (void)BIO_socket_nbio(fd, 0); /* as connecting within a time has left it */
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

static bool exchange(BIO *bio, const struct str *request, int *ret_status, struct err *err)
{
    char answer[ANSWER_MAX_BYTES + 1];
    int len;

    if (BIO_write(bio, request->ptr, (int)request->len) != (int)request->len)
        return err_set(err, ERR_IO, "cannot send the report of progress: no response within %d s", TIMEOUT_S);
    len = BIO_read(bio, answer, ANSWER_MAX_BYTES);
    answer[len > 0 ? len : 0] = '\0';
    *ret_status = progress_response_status(answer);
    return *ret_status ||
           err_set(err, ERR_IO, "cannot send the report of progress: no response within %d s", TIMEOUT_S);
}

static void set_handshake_error(const SSL *ssl, const char *address, struct err *err)
{
    long result = SSL_get_verify_result(ssl);

    if (result == X509_V_OK)
        err_set(err, ERR_IO, "cannot agree on TLS with %s", address);
    else
        err_set(err, ERR_DENIED, "cannot verify the certificate of %s: %s", address,
                X509_verify_cert_error_string(result));
}

static bool send_over(SSL_CTX *ctx, const struct progress_url *url, const struct str *request,
                      int *ret_status, struct err *err)
{
    AUTO(mem) char *address = mem_printf("%s:%s", url->host, url->port);
    BIO *tcp = BIO_new_connect(address), *bio = BIO_new_ssl(ctx, 1);
    SSL *ssl = NULL;
    bool done = false;

    (void)signal(SIGPIPE, SIG_IGN); /* the server may close the connection at any time */
    if (!tcp || !bio || BIO_get_ssl(bio, &ssl) != 1 || SSL_set1_host(ssl, url->host) != 1 ||
        SSL_set_tlsext_host_name(ssl, url->host) != 1) {
        err_set(err, ERR_INTERNAL, "cannot set up TLS");
    } else if (BIO_do_connect_retry(tcp, TIMEOUT_S, RETRY_MS) != 1) {
        err_set(err, ERR_IO, "cannot connect to %s", address);
    } else {
        limit_waiting(tcp);
        BIO_push(bio, tcp);
        if (BIO_do_handshake(bio) == 1)
            done = exchange(bio, request, ret_status, err);
        else
            set_handshake_error(ssl, address, err);
        tcp = NULL; /* it is freed with the other */
    }
    BIO_free_all(bio);
    BIO_free(tcp);
    ERR_clear_error();
    return done;
}

static bool send_request(const char *ca, const struct progress_url *url, const struct str *request,
                         struct err *err)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    int status = 0;
    bool done = ctx && SSL_CTX_load_verify_file(ctx, ca) == 1;

    if (!done)
        err_set(err, ERR_INVALID, "cannot read the CA in %s", ca);
    if (done) {
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
        done = send_over(ctx, url, request, &status, err);
    }
    SSL_CTX_free(ctx);
    return done &&
           (status == 200 || err_set_code(err, ERR_DENIED, status,
                                          "the operator rejects the report of progress: HTTP %d", status));
}

bool progress_report_send(char *const *words, struct err *err)
{
    const char *where, *ca, *token_file;
    AUTO(progress_url) struct progress_url url = {0};
    AUTO(str) struct str token = {0};
    AUTO(str) struct str request = {0};
    AUTO(mem) char *body = progress_request_body(words, err);

    if (!body || !read_setting(URL, &where, err) || !read_setting(CA, &ca, err) ||
        !read_setting(TOKEN, &token_file, err) || !progress_url_read(where, &url, err) ||
        !file_read(token_file, TOKEN_MAX_BYTES, &token, err))
        return false;
    str_trim(&token);
    progress_request_print(&url, str_text(&token), body, &request);
    return send_request(ca, &url, &request, err);
}
