/* The sockets of one HTTP pool that libcurl has open: it reports when one is opened and closed, and this
 * list records when each was last readable. Private to base/http/http_client*.c; owns no descriptor. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct http_socket {
    int fd;
    int64_t last_read_ms; /* when it was opened or last readable */
};

struct http_sockets {
    struct http_socket *items;
    size_t count;
    size_t cap;
};

/* -1 and errno if there is no descriptor left. Sockets detect a vanished peer within six seconds. */
int http_sockets_open(struct http_sockets *s, int family, int type, int protocol, int64_t now_ms);
int http_sockets_close(struct http_sockets *s, int fd);
void http_sockets_mark_readable(struct http_sockets *s, int fd, int64_t now_ms);
/* Resets every connection on which nothing has arrived since then; INT64_MAX means all. Unsent bytes are
 * discarded. */
void http_sockets_reset(struct http_sockets *s, int64_t last_read_before_ms);
void http_sockets_release(struct http_sockets *s);
