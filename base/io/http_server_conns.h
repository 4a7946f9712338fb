/* The connections of an HTTP server. When there are too many, the one is closed that has been idle longest,
 * since it came or since something of an answer last left through it; what arrives of a request does not
 * count. When the bodies that have arrived in part are too large together, it is the one with a body among
 * them. Those that a handler is busy for are never closed for it. Private to base/io/http_server*.c. */
#pragma once

#include <libwebsockets.h>

#include "base/io/loop.h"

enum { HTTP_SERVER_CONNECTIONS_MAX = 256, HTTP_SERVER_BODY_BYTES_MAX = 64 * 1024 * 1024 };

struct http_server_conns {
    struct loop *loop;
    struct lws_dll2_owner idle; /* who has been longest comes first */
    struct lws_dll2_owner busy;
    size_t body_bytes; /* of all guests */
    struct loop_timer timer;
};

/* What the library's opaque pointer of a connection is, from its beginning, before any handshake. */
struct http_server_conn {
    struct lws_dll2 place;
    struct lws *wsi;
    size_t body_bytes;
    struct http_server_request *request; /* NULL between two requests */
};

void http_server_conns_add(struct http_server_conns *conns, struct lws *wsi);
void http_server_conns_set_busy(struct http_server_conns *conns, struct http_server_conn *conn);
void http_server_conns_set_idle(struct http_server_conns *conns,
                                struct http_server_conn *conn); /* from now on */
/* So much of a body is kept for it now; 0 before it parts. */
void http_server_conns_charge_body(struct http_server_conns *conns, struct http_server_conn *conn,
                                   size_t body_bytes);
void http_server_conns_remove(struct http_server_conn *conn); /* and frees it; NULL is fine */
