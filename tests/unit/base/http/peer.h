/* Scripted TCP peers for tests: plain blocking code in a child process, so that a script reads from top to
 * bottom and can be silent, slow or wrong on purpose. A script that wants silence reads until the other side
 * ends; nothing sleeps. Children are killed by peer_stop. Everything happens on 127.0.0.1. */
#pragma once

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct peer {
    pid_t pid;
    uint16_t port;
};

/* `listener` is open for the script; when it returns, the child ends. */
void peer_start(struct peer *peer, void (*script)(int listener));
void peer_stop(struct peer *peer);

/* Runs the script with a connection to the port; the child's exit status is 0 when it returned true. */
void peer_start_client(struct peer *peer, uint16_t port, bool (*script)(int fd));
/* True when the child has ended; then *good tells whether its script returned true. */
bool peer_has_ended(struct peer *peer, bool *good);

/* For scripts. They end the child with status 1 when the network fails. */
int peer_accept(int listener);
void peer_send(int fd, const char *text);
size_t peer_read_request(int fd, char *out, size_t size); /* head and body, by Content-Length; terminated */
size_t peer_read_all(int fd, char *out, size_t size);     /* until the end or a reset; terminated */
void peer_reset(int fd);                                  /* closes with a reset */

/* A self-signed certificate for the DNS name (or address, when it is one) and its key, as PEM in static
 * memory. */
struct peer_identity {
    char cert_pem[4096];
    char key_pem[4096];
};
void peer_identity_make(struct peer_identity *identity, const char *name); /* with an EC key */
void peer_identity_make_rsa(struct peer_identity *identity, const char *name);
/* Server side of TLS on an accepted connection; NULL when the handshake fails. With ask_client, a certificate
 * of the same identity is demanded. */
SSL *peer_tls(int fd, const struct peer_identity *identity, bool ask_client);
