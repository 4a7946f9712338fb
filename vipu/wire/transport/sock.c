#include "vipu/wire/transport/sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/core/mem.h"
#include "base/core/str.h"

struct sock_watch {
    uv_poll_t poll;
    struct sock *owner; /* NULL once closed */
    int events;         /* events waited for now */
};

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct sock_watch *watch = CONTAINER_OF(poll, struct sock_watch, poll);

    /* libuv stops a handle that reports an error, but there may be bytes to read before the error. */
    if (watch->owner && status < 0)
        uv_poll_start(poll, watch->events, on_poll);
    if (watch->owner)
        watch->owner->fn(watch->owner, status < 0 || (events & UV_READABLE),
                         status < 0 || (events & UV_WRITABLE));
}

static void on_closed(uv_handle_t *handle)
{
    mem_free(CONTAINER_OF(handle, struct sock_watch, poll));
}

void sock_open_take(struct sock *sock, struct loop *loop, int fd, sock_fn fn)
{
    *sock = (struct sock){.fd = fd, .watch = NEW(struct sock_watch), .fn = fn};
    sock->watch->owner = sock;
    uv_poll_init(loop_uv(loop), &sock->watch->poll, fd);
}

void sock_want(struct sock *sock, bool readable, bool writable)
{
    int events = (readable ? UV_READABLE : 0) | (writable ? UV_WRITABLE : 0);

    if (events == sock->watch->events)
        return; /* libuv would make a system call again */
    sock->watch->events = events;
    if (events)
        uv_poll_start(&sock->watch->poll, events, on_poll);
    else
        uv_poll_stop(&sock->watch->poll);
}

int sock_take(struct sock *sock)
{
    int fd = sock->fd;

    sock->watch->owner = NULL;
    uv_poll_stop(&sock->watch->poll);
    uv_close((uv_handle_t *)&sock->watch->poll, on_closed);
    *sock = (struct sock){.fd = -1};
    return fd;
}

void sock_close(struct sock *sock, bool reset)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    int fd;

    if (!sock->watch)
        return;
    fd = sock_take(sock);
    if (reset)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(fd);
}

static void set_int(int fd, int level, int option, int value)
{
    setsockopt(fd, level, option, &value, sizeof(value));
}

/* Keep-alive detects a peer that died while the connection was idle, the user timeout one that dies while
 * data is sent. */
static void tune(int fd, unsigned idle_timeout_ms)
{
    unsigned seconds = idle_timeout_ms / 2000 ? idle_timeout_ms / 2000 : 1;

    set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, (int)seconds);
    set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, (int)seconds);
    set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)idle_timeout_ms);
}

/* Returns a descriptor that would otherwise be closed at the end of the scope. */
static int keep(int *fd)
{
    int kept = *fd;

    *fd = -1;
    return kept;
}

int sock_connect(const struct sockaddr *address, socklen_t len, unsigned idle_timeout_ms, struct err *err)
{
    AUTO(fd) int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        err_errno(err, errno, "cannot open a socket");
        return -1;
    }
    tune(fd, idle_timeout_ms);
    if (connect(fd, address, len) != 0 && errno != EINPROGRESS) {
        err_errno(err, errno, "connect");
        return -1;
    }
    return keep(&fd);
}

/* Splits "HOST:PORT"; the host may be empty or in brackets. */
static bool split(const char *address, char **ret_host, char **ret_port, struct err *err)
{
    const char *colon = strrchr(address, ':');
    uint32_t port;
    size_t len;

    if (!colon || !parse_u32(colon + 1, 0, 65535, &port))
        return err_set(err, ERR_INVALID,
                       "invalid listen address \"%s\": expected [HOST]:PORT with a port up to 65535",
                       address);
    len = (size_t)(colon - address);
    if (len >= 2 && address[0] == '[' && colon[-1] == ']') {
        address++;
        len -= 2;
    }
    *ret_host = len ? mem_strndup(address, len) : NULL;
    *ret_port = mem_strdup(colon + 1);
    return true;
}

static int listen_on(const struct addrinfo *info, const char *address, struct err *err)
{
    AUTO(fd) int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd >= 0) {
        set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
        if (info->ai_family == AF_INET6)
            set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    }
    if (fd < 0 || bind(fd, info->ai_addr, info->ai_addrlen) != 0 || listen(fd, 512) != 0) {
        err_errno(err, errno, "cannot listen on %s", address);
        return -1;
    }
    return keep(&fd);
}

int sock_listen(const char *address, struct err *err)
{
    struct addrinfo hints = {.ai_family = AF_INET6, .ai_socktype = SOCK_STREAM}, *info = NULL;
    AUTO(mem) char *host = NULL;
    AUTO(mem) char *port = NULL;
    int fd = -1, failure;

    if (!split(address, &host, &port, err))
        return -1;
    if (host && strcmp(host, "localhost") == 0)
        mem_set_str(&host, "127.0.0.1");
    hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
    if (host)
        hints.ai_family = AF_UNSPEC;
    failure = getaddrinfo(host, port, &hints, &info);
    if (failure) {
        err_set(err, ERR_INVALID, "listen address \"%s\": %s", address, gai_strerror(failure));
        return -1;
    }
    fd = listen_on(info, address, err);
    freeaddrinfo(info);
    if (fd < 0 && !host && err->code == EAFNOSUPPORT) { /* a kernel without IPv6 */
        AUTO(mem) char *any = mem_printf("0.0.0.0:%s", port);

        return sock_listen(any, err);
    }
    return fd;
}

int sock_accept(int listener, unsigned idle_timeout_ms)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd >= 0)
        tune(fd, idle_timeout_ms);
    return fd;
}

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

void sock_peer(int fd, char out[SOCK_ADDRESS_MAX])
{
    union address address = {0};
    socklen_t len = sizeof(address);

    out[0] = '\0';
    if (getpeername(fd, &address.any, &len) != 0)
        return;
    if (address.any.sa_family == AF_INET6)
        inet_ntop(AF_INET6, &address.v6.sin6_addr, out, SOCK_ADDRESS_MAX);
    else if (address.any.sa_family == AF_INET)
        inet_ntop(AF_INET, &address.v4.sin_addr, out, SOCK_ADDRESS_MAX);
}

uint32_t sock_port(int fd)
{
    union address address = {0};
    socklen_t len = sizeof(address);

    if (getsockname(fd, &address.any, &len) != 0)
        return 0;
    if (address.any.sa_family == AF_INET6)
        return ntohs(address.v6.sin6_port);
    return address.any.sa_family == AF_INET ? ntohs(address.v4.sin_port) : 0;
}
