/* A small HTTP/1.1 server: libwebsockets on the loop. Routes are exact paths; a handler responds at once or
 * later with http_server_reply. Request bodies, each and in total, responses that are not read, header
 * sizes, connections and idle times are limited. With a certificate it speaks TLS, and can change the
 * certificate while it runs, without dropping a request. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"

struct http_server;
struct http_server_request;
struct loop;

struct http_server_request_info {
    const char *method;
    const char *path;
    const char *query;         /* without '?'; "" if absent */
    const char *authorization; /* that header, a secret; "" if absent */
    const char *peer;          /* the client's address, without its port */
    bool is_local;             /* from this machine's loopback address, and not by a web page */
    bool is_from_page;         /* of a browser: it has an Origin, or a loopback address under another name */
    struct slice body;         /* empty for GET */
};

/* Must lead to exactly one http_server_reply on `request`, now or later. view is borrowed for the call. */
typedef void (*http_server_handler_fn)(void *ctx, struct http_server_request *request,
                                       const struct http_server_request_info *view);
/* The peer has closed the connection before the reply: forget the request. May be NULL if the handler always
 * responds at once. */
typedef void (*http_server_cancel_fn)(void *ctx, struct http_server_request *request);

struct http_server_route {
    const char *path;    /* exact */
    const char *methods; /* allowed methods, as in the Allow header; NULL: "GET, HEAD" */
    http_server_handler_fn fn;
    http_server_cancel_fn gone;
    void *ctx;
    size_t max_body; /* 0: no body allowed */
};

/* PEM text, borrowed for the call: the server's own certificate, then the intermediate ones; its key. */
struct http_server_tls {
    const char *certificates;
    const char *key;
};

struct http_server_options {
    const char *address;                    /* NULL: all, IPv4 and IPv6 */
    uint16_t port;                          /* 0: any free one, see http_server_port */
    const struct http_server_route *routes; /* ends with path NULL; must outlive the server */
    const struct http_server_tls *tls;      /* NULL: plain HTTP */
    uint32_t connections_per_peer;          /* 0: no limit but the total; the longest idle one is closed */
};

MUST_USE struct http_server *http_server_new(struct loop *loop, const struct http_server_options *options,
                                             struct err *err);
/* New connections get this certificate, existing ones keep theirs. ERR_INVALID: nothing has changed. Only
 * for a server that was created with a certificate. */
MUST_USE bool http_server_set_tls(struct http_server *server, const struct http_server_tls *tls,
                                  struct err *err);
uint16_t http_server_port(const struct http_server *server);
void http_server_reply(struct http_server_request *request, int status, const char *content_type,
                       struct slice body);
void http_server_replyf(struct http_server_request *request, int status, const char *fmt,
                        ...) /* text/plain */
    __attribute__((format(printf, 3, 4)));
/* From now on every response closes its connection, so that clients switch to another server without losing
 * a request. */
void http_server_drain(struct http_server *server);
/* Not from inside a callback of the loop: it runs the loop until its sockets are closed. */
void http_server_free(struct http_server *server);
