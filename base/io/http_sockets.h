/* The sockets of one HTTP pool, as far as libcurl does not let go of them: it says when one is opened and
 * closed, and this list remembers when each last had something to read. Private to base/io/http_client*.c;
 * owns no descriptor. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct http_socket {
    int fd;
    int64_t heard_ms; /* when it was opened or last readable */
};

struct http_sockets {
    struct http_socket *items;
    size_t count;
    size_t cap;
};

/* -1 and errno when there is no descriptor left. Sockets notice a vanished peer within six seconds. */
int http_sockets_open(struct http_sockets *s, int family, int type, int protocol, int64_t now_ms);
int http_sockets_close(struct http_sockets *s, int fd);
void http_sockets_mark_readable(struct http_sockets *s, int fd, int64_t now_ms);
/* Resets every connection on which nothing arrived since then; INT64_MAX means all. Bytes not sent yet are
 * dropped. */
void http_sockets_reset(struct http_sockets *s, int64_t not_heard_since_ms);
void http_sockets_release(struct http_sockets *s);
