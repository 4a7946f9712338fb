#include "unit/base/http/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/check.h"

static void need(bool condition)
{
    if (!condition)
        _exit(1);
}

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* A test that fails jumps over its peer_stop: the child goes with its parent. */
static void become_child(void)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGPIPE, SIG_IGN);
}

void peer_start(struct peer *peer, void (*script)(int listener))
{
    struct sockaddr_in address = loopback(0);
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(listener >= 0);
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(listener, 16) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &len) == 0);
    peer->port = ntohs(address.sin_port);
    peer->pid = fork();
    CHECK(peer->pid >= 0);
    if (peer->pid == 0) {
        become_child();
        script(listener);
        _exit(0);
    }
    (void)close(listener);
}

void peer_start_client(struct peer *peer, uint16_t port, bool (*script)(int fd))
{
    struct sockaddr_in address = loopback(port);

    peer->port = port;
    peer->pid = fork();
    CHECK(peer->pid >= 0);
    if (peer->pid != 0)
        return;
    become_child();
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    _exit(script(fd) ? 0 : 1);
}

bool peer_has_ended(struct peer *peer, bool *good)
{
    int status;

    if (peer->pid <= 0 || waitpid(peer->pid, &status, WNOHANG) != peer->pid)
        return false;
    peer->pid = 0;
    *good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return true;
}

void peer_stop(struct peer *peer)
{
    if (peer->pid <= 0)
        return;
    (void)kill(peer->pid, SIGKILL);
    (void)waitpid(peer->pid, NULL, 0);
    peer->pid = 0;
}

int peer_accept(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

    need(fd >= 0);
    return fd;
}

void peer_send(int fd, const char *text)
{
    size_t left = strlen(text);

    while (left > 0) {
        ssize_t put = write(fd, text, left);
        if (put < 0 && errno == EINTR)
            continue;
        need(put > 0);
        text += put;
        left -= (size_t)put;
    }
}

static size_t wanted_len(const char *request)
{
    const char *head_end = strstr(request, "\r\n\r\n");
    const char *length = strcasestr(request, "\r\ncontent-length: ");

    if (!head_end)
        return SIZE_MAX;
    size_t head = (size_t)(head_end - request) + 4;
    return length && length < head_end ? head + strtoul(length + 18, NULL, 10) : head;
}

size_t peer_read_request(int fd, char *out, size_t size)
{
    size_t len = 0;

    out[0] = '\0';
    while (len < wanted_len(out)) {
        need(len + 1 < size);
        ssize_t got = read(fd, out + len, size - len - 1);
        need(got > 0);
        len += (size_t)got;
        out[len] = '\0';
    }
    return len;
}

size_t peer_read_all(int fd, char *out, size_t size)
{
    size_t len = 0;

    while (len + 1 < size) {
        ssize_t got = read(fd, out + len, size - len - 1);
        if (got <= 0)
            break;
        len += (size_t)got;
    }
    out[len] = '\0';
    return len;
}

void peer_reset(int fd)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    need(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
    (void)close(fd);
}

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void add_name(X509 *cert, const char *name)
{
    struct in_addr address;
    char text[300];
    bool is_address = inet_pton(AF_INET, name, &address) == 1;

    (void)snprintf(text, sizeof text, "%s:%s", is_address ? "IP" : "DNS", name);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, text);
    must(extension && X509_add_ext(cert, extension, -1));
    X509_EXTENSION_free(extension);
}

static void copy_out(BIO *bio, char *out, size_t size)
{
    int len = BIO_read(bio, out, (int)size - 1);

    must(len > 0);
    out[len] = '\0';
    BIO_free(bio);
}

static void make_identity_take(struct peer_identity *identity, const char *name, EVP_PKEY *key)
{
    X509 *cert = X509_new();
    BIO *cert_bio = BIO_new(BIO_s_mem());
    BIO *key_bio = BIO_new(BIO_s_mem());

    must(key && cert && cert_bio && key_bio);
    must(X509_set_version(cert, 2) && ASN1_INTEGER_set(X509_get_serialNumber(cert), 1));
    must(X509_gmtime_adj(X509_getm_notBefore(cert), -3600) &&
         X509_gmtime_adj(X509_getm_notAfter(cert), 3600));
    X509_NAME *subject = X509_get_subject_name(cert);
    must(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)"peer", -1, -1, 0));
    must(X509_set_issuer_name(cert, subject) && X509_set_pubkey(cert, key));
    add_name(cert, name);
    must(X509_sign(cert, key, EVP_sha256()) > 0);
    must(PEM_write_bio_X509(cert_bio, cert) &&
         PEM_write_bio_PKCS8PrivateKey(key_bio, key, NULL, NULL, 0, NULL, NULL));
    copy_out(cert_bio, identity->cert_pem, sizeof identity->cert_pem);
    copy_out(key_bio, identity->key_pem, sizeof identity->key_pem);
    X509_free(cert);
    EVP_PKEY_free(key);
}

void peer_identity_make(struct peer_identity *identity, const char *name)
{
    make_identity_take(identity, name, EVP_EC_gen("P-256"));
}

void peer_identity_make_rsa(struct peer_identity *identity, const char *name)
{
    make_identity_take(identity, name, EVP_RSA_gen(2048));
}

SSL *peer_tls(int fd, const struct peer_identity *identity, bool ask_client)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    BIO *cert_bio = BIO_new_mem_buf(identity->cert_pem, -1);
    BIO *key_bio = BIO_new_mem_buf(identity->key_pem, -1);

    need(ctx && cert_bio && key_bio);
    X509 *cert = PEM_read_bio_X509(cert_bio, NULL, NULL, NULL);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(key_bio, NULL, NULL, NULL);
    need(cert && key && SSL_CTX_use_certificate(ctx, cert) && SSL_CTX_use_PrivateKey(ctx, key));
    if (ask_client) {
        need(X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), cert));
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    SSL *ssl = SSL_new(ctx);
    need(ssl && SSL_set_fd(ssl, fd));
    if (SSL_accept(ssl) == 1)
        return ssl;
    SSL_free(ssl);
    return NULL;
}
