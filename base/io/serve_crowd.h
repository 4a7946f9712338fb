/* The connections of an HTTP server. When there are too many, the one is closed that has been idle longest,
 * since it came or since something of an answer last left through it; what arrives of a request does not
 * count. When the bodies that have arrived in part are too large together, it is the one with a body among
 * them. Those that a handler is busy for are never closed for it. Private to base/io/serve*.c. */
#pragma once

#include <libwebsockets.h>

#include "base/io/loop.h"

enum { SERVE_CONNECTIONS = 256, SERVE_BODY_BYTES = 64 * 1024 * 1024 };

struct serve_crowd {
    struct loop *loop;
    struct lws_dll2_owner idle; /* who has been longest comes first */
    struct lws_dll2_owner busy;
    size_t body_bytes; /* of all guests */
    struct loop_timer timer;
};

/* What the library's opaque pointer of a connection is, from its beginning, before any handshake. */
struct serve_guest {
    struct lws_dll2 place;
    struct lws *wsi;
    size_t body_bytes;
    struct serve_request *request; /* NULL between two requests */
};

void serve_crowd_join(struct serve_crowd *crowd, struct lws *wsi);
void serve_crowd_busy(struct serve_crowd *crowd, struct serve_guest *guest);
void serve_crowd_idle(struct serve_crowd *crowd, struct serve_guest *guest); /* from now on */
/* So much of a body is kept for it now; 0 before it parts. */
void serve_crowd_keep(struct serve_crowd *crowd, struct serve_guest *guest, size_t body_bytes);
void serve_crowd_part(struct serve_guest *guest); /* and frees it; NULL is fine */
