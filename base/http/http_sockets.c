#include "base/http/http_sockets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "base/core/mem.h"

/* A connection ends when its peer has acknowledged nothing for six seconds (TCP_USER_TIMEOUT). An idle
 * connection sends nothing: there the keepalive probes that libcurl enables are what a dead peer does not
 * acknowledge. */
enum { USER_TIMEOUT_MS = 6000 };

int http_sockets_open(struct http_sockets *s, int family, int type, int protocol, int64_t now_ms)
{
    unsigned timeout_ms = USER_TIMEOUT_MS;
    int fd = socket(family, type | SOCK_CLOEXEC, protocol);

    if (fd < 0)
        return -1;
    if (family == AF_INET || family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
    if (s->count == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 4;
        s->items = mem_grow(s->items, s->cap, sizeof *s->items);
    }
    s->items[s->count++] = (struct http_socket){fd, now_ms};
    return fd;
}

static struct http_socket *find(const struct http_sockets *s, int fd)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->items[i].fd == fd)
            return &s->items[i];
    }
    return NULL;
}

int http_sockets_close(struct http_sockets *s, int fd)
{
    struct http_socket *socket = find(s, fd);

    if (socket)
        *socket = s->items[--s->count];
    return close(fd);
}

void http_sockets_mark_readable(struct http_sockets *s, int fd, int64_t now_ms)
{
    struct http_socket *socket = find(s, fd);

    if (socket)
        socket->last_read_ms = now_ms;
}

void http_sockets_reset(struct http_sockets *s, int64_t last_read_before_ms)
{
    /* "Connecting" to AF_UNSPEC makes TCP send a reset now and discard its queue. shutdown() would still
     * deliver the queue, and close() is libcurl's. */
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};

    for (size_t i = 0; i < s->count; i++) {
        if (s->items[i].last_read_ms <= last_read_before_ms)
            (void)connect(s->items[i].fd, &nowhere, sizeof nowhere);
    }
}

void http_sockets_release(struct http_sockets *s)
{
    mem_free(s->items);
    *s = (struct http_sockets){0};
}
