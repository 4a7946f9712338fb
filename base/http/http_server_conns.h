/* The connections of an HTTP server. If there are too many, the one that has been idle longest is closed,
 * counted from its start or from the last byte of a response; bytes of requests do not count. Those that read
 * a response are spared, so that new connections, however many, do not cut it. If partial bodies, or
 * responses that are not read, are too large in total, it is the one among those with such bytes; if one peer
 * has too many, it is one of that peer's. A connection that a handler is working for is never closed for
 * this. Private to base/http/http_server*.c. */
#pragma once

#include <libwebsockets.h>
#include <netinet/in.h>

#include "base/io/loop.h"

enum {
    HTTP_SERVER_CONNECTIONS_MAX = 256,
    HTTP_SERVER_READERS_MAX = 128, /* more are not spared: others have to find a place */
    HTTP_SERVER_READ_MS = 5000,    /* for some bytes of a response */
    HTTP_SERVER_BODY_BYTES_MAX = 12 * 1024 * 1024,
    HTTP_SERVER_REPLY_BYTES_MAX = 16 * 1024 * 1024
};

/* What is in memory for a connection. */
enum http_server_bytes { HTTP_SERVER_BODIES, HTTP_SERVER_REPLIES, HTTP_SERVER_BYTES };

struct http_server_conns {
    struct loop *loop;
    struct lws_dll2_owner idle; /* the longest idle one first */
    struct lws_dll2_owner busy;
    size_t bytes[HTTP_SERVER_BYTES]; /* of all connections */
    uint32_t per_peer_max;           /* 0: no limit */
    struct loop_timer timer;
};

/* What the library's opaque pointer of a connection points to, from its start, before any handshake. */
struct http_server_conn {
    struct lws_dll2 place;
    struct lws *wsi;
    struct in6_addr peer;
    int64_t idle_since_ms;
    size_t bytes[HTTP_SERVER_BYTES];
    struct http_server_request *request; /* NULL between two requests */
};

void http_server_conns_add(struct http_server_conns *conns, struct lws *wsi);
void http_server_conns_set_busy(struct http_server_conns *conns, struct http_server_conn *conn);
void http_server_conns_set_idle(struct http_server_conns *conns,
                                struct http_server_conn *conn); /* from now on */
/* So many bytes of it are in memory now; 0 before they are freed. */
void http_server_conns_charge(struct http_server_conns *conns, struct http_server_conn *conn,
                              enum http_server_bytes kind, size_t bytes);
void http_server_conns_remove(struct http_server_conn *conn); /* and frees it; accepts NULL */
