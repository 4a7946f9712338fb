#include "launcher/remote/protocol/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "launcher/process/signals.h"
#include "launcher/process/signal_fd.h"

static bool read_port(const struct envv *env, uint16_t *ret, struct err *err)
{
    const char *text = envv_get(env, ENDPOINT_ENV_PORT);
    uint32_t port;

    if (!text || !parse_u32(text, 1, 65535, &port))
        return err_set(err, ERR_INVALID,
                       ENDPOINT_ENV_PORT " must be a port from 1 to 65535; it is set by the operator");
    *ret = (uint16_t)port;
    return true;
}

static socklen_t fill_v4(const struct in_addr *host, uint16_t port, struct sockaddr_storage *ret)
{
    struct sockaddr_in *address = (struct sockaddr_in *)(void *)ret;

    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = *host};
    return sizeof(*address);
}

static socklen_t fill_v6(const struct in6_addr *host, uint16_t port, struct sockaddr_storage *ret)
{
    struct sockaddr_in6 *address = (struct sockaddr_in6 *)(void *)ret;

    *address = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = *host};
    return sizeof(*address);
}

static bool listen_at(const struct sockaddr_storage *address, socklen_t len, int *ret)
{
    AUTO(fd) int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int off = 0, on = 1;

    if (fd < 0)
        return false;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (address->ss_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, (const struct sockaddr *)(const void *)address, len) < 0 || listen(fd, SOMAXCONN) < 0)
        return false;
    *ret = fd;
    fd = -1;
    return true;
}

/* An IPv6 socket accepts IPv4 connections too; a kernel without IPv6 has IPv4 only. */
static bool listen_everywhere(uint16_t port, int *ret)
{
    struct sockaddr_storage address;
    struct in_addr any = {.s_addr = htonl(INADDR_ANY)};
    socklen_t len = fill_v6(&in6addr_any, port, &address);

    if (listen_at(&address, len, ret))
        return true;
    if (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL)
        return false;
    len = fill_v4(&any, port, &address);
    return listen_at(&address, len, ret);
}

/* False: the text is no address. */
static bool read_address(const char *text, uint16_t port, struct sockaddr_storage *ret, socklen_t *ret_len)
{
    struct in6_addr v6;
    struct in_addr v4;

    if (inet_pton(AF_INET, text, &v4) == 1)
        *ret_len = fill_v4(&v4, port, ret);
    else if (inet_pton(AF_INET6, text, &v6) == 1)
        *ret_len = fill_v6(&v6, port, ret);
    else
        return false;
    return true;
}

static bool reject_address(const char *text, struct err *err)
{
    return err_set(err, ERR_INVALID, ENDPOINT_ENV_ADDRESS "=\"%.60s\": expected an IPv4 or IPv6 address",
                   text);
}

bool endpoint_listen(const struct envv *env, int *ret, struct err *err)
{
    const char *text = envv_get(env, ENDPOINT_ENV_ADDRESS);
    struct sockaddr_storage address;
    socklen_t len;
    uint16_t port;
    bool listens;

    if (!read_port(env, &port, err))
        return false;
    if (text && *text && !read_address(text, port, &address, &len))
        return reject_address(text, err);
    listens = text && *text ? listen_at(&address, len, ret) : listen_everywhere(port, ret);
    return listens || err_errno(err, errno, "cannot listen at port %u", port);
}

bool endpoint_own(const struct envv *env, struct sockaddr_storage *ret, socklen_t *ret_len, struct err *err)
{
    const char *text = envv_get(env, ENDPOINT_ENV_ADDRESS);
    uint16_t port;

    if (!read_port(env, &port, err))
        return false;
    return read_address(text && *text ? text : "127.0.0.1", port, ret, ret_len) || reject_address(text, err);
}

int endpoint_accept(int listener, uint8_t ret_address[ENDPOINT_ADDRESS_BYTES],
                    char ret_text[ENDPOINT_TEXT_MAX])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof(address);
    int fd = accept4(listener, (struct sockaddr *)(void *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)&address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)&address;
    int on = 1;

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    memset(ret_address, 0, ENDPOINT_ADDRESS_BYTES);
    if (address.ss_family == AF_INET) {
        memcpy(ret_address, mapped, sizeof(mapped));
        memcpy(ret_address + sizeof(mapped), &v4->sin_addr, sizeof(v4->sin_addr));
    } else {
        memcpy(ret_address, &v6->sin6_addr, ENDPOINT_ADDRESS_BYTES);
    }
    if (memcmp(ret_address, mapped, sizeof(mapped)) == 0)
        (void)inet_ntop(AF_INET, ret_address + sizeof(mapped), ret_text, ENDPOINT_TEXT_MAX);
    else
        (void)inet_ntop(AF_INET6, ret_address, ret_text, ENDPOINT_TEXT_MAX);
    return fd;
}

static bool await_connected(int fd, int64_t deadline_ms, struct err *err)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    socklen_t len = sizeof(int);
    int problem = 0;

    if (poll(&ready, 1, poll_timeout_ms(signals_now_ms(), deadline_ms)) <= 0)
        return err_set(err, ERR_TIMEOUT, "no answer came");
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &len) == 0 && problem == 0)
        return true;
    return err_set_code(err, ERR_IO, problem, "%s", strerror(problem));
}

bool endpoint_connect(const struct sockaddr_storage *address, socklen_t len, int64_t deadline_ms, int *ret,
                      struct err *err)
{
    AUTO(fd) int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;

    if (fd < 0)
        return err_set_code(err, ERR_IO, errno, "%s", strerror(errno));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(fd, (const struct sockaddr *)(const void *)address, len) < 0 && errno != EINPROGRESS)
        return err_set_code(err, ERR_IO, errno, "%s", strerror(errno));
    if (!await_connected(fd, deadline_ms, err))
        return false;
    *ret = fd;
    fd = -1;
    return true;
}
