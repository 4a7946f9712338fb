/* A TCP socket on the loop. The owner embeds a struct sock, reads and writes its descriptor directly, and is
 * called when that may succeed. Unlike a uv stream it has no write queue of its own, so an owner knows
 * exactly what has been handed to the kernel; and closing takes effect at once, by FIN or, with reset, by
 * RST. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/core/err.h"
#include "base/io/loop.h"

struct sock;
struct sock_watch;

/* An error or a hang-up sets both: the next read or write says which. May close the socket and free its
 * owner. */
typedef void (*sock_fn)(struct sock *sock, bool readable, bool writable);

struct sock {
    int fd; /* -1 when closed */
    struct sock_watch *watch;
    sock_fn fn;
};

void sock_open_take(struct sock *sock, struct loop *loop, int fd, sock_fn fn); /* waits for no event yet */
void sock_want(struct sock *sock, bool readable, bool writable);
void sock_close(struct sock *sock, bool reset); /* accepts a closed sock and a zeroed one with fd -1 */

int sock_take(struct sock *sock); /* stops watching and returns the descriptor, owned by the caller */

/* A non-blocking descriptor that is connected or connecting; -1 with err. If the peer stops responding for
 * idle_timeout_ms, the connection ends. */
int sock_connect(const struct sockaddr *address, socklen_t len, unsigned idle_timeout_ms, struct err *err);
/* "HOST:PORT", ":PORT", "[::1]:PORT"; HOST is an address or localhost, and port 0 lets the system choose. */
int sock_listen(const char *address, struct err *err);
int sock_accept(int listener, unsigned idle_timeout_ms); /* -1 with errno */
#define SOCK_ADDRESS_MAX 46u
void sock_peer(int fd, char out[SOCK_ADDRESS_MAX]); /* its address without the port; "" if there is none */
uint32_t sock_port(int fd);                         /* the port in use; 0 if there is none */
