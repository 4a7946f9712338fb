/* A small HTTP/1.1 server: libwebsockets on the loop. Routes are exact paths; a handler answers at once or
 * later by serve_reply. Request bodies, each and together, header sizes, connections and idle times are
 * limited. With a certificate it speaks TLS, and takes another certificate while it runs, without dropping a
 * request. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"

struct serve;
struct serve_request;
struct loop;

struct serve_view {
    const char *method;
    const char *path;
    const char *query;         /* without '?'; "" when absent */
    const char *authorization; /* that header, a secret; "" when absent */
    bool is_local;             /* from this machine's loopback address */
    struct slice body;         /* empty for GET */
};

/* Must lead to exactly one serve_reply on `request`, now or later. view is borrowed for the call. */
typedef void (*serve_fn)(void *ctx, struct serve_request *request, const struct serve_view *view);
/* The peer went away before the reply: forget the request. May be NULL when the handler always answers at
 * once. */
typedef void (*serve_gone_fn)(void *ctx, struct serve_request *request);

struct serve_route {
    const char *path;    /* exact */
    const char *methods; /* what it takes, as Allow says it; NULL: "GET, HEAD" */
    serve_fn fn;
    serve_gone_fn gone;
    void *ctx;
    size_t max_body; /* 0: no body accepted */
};

/* PEM text, borrowed for the call: the server's own certificate, then those between it and the CA; its key.
 */
struct serve_tls {
    const char *certificates;
    const char *key;
};

struct serve_options {
    const char *address;              /* NULL: all, IPv4 and IPv6 */
    uint16_t port;                    /* 0: any free one, see serve_port */
    const struct serve_route *routes; /* ends with path NULL; must outlive the server */
    const struct serve_tls *tls;      /* NULL: plain HTTP */
};

MUST_USE struct serve *serve_new(struct loop *loop, const struct serve_options *options, struct err *err);
/* New connections get this certificate, open ones keep theirs. ERR_INVALID: nothing has changed. Only for a
 * server that was made with a certificate. */
MUST_USE bool serve_set_tls(struct serve *serve, const struct serve_tls *tls, struct err *err);
uint16_t serve_port(const struct serve *serve);
void serve_reply(struct serve_request *request, int status, const char *content_type, struct slice body);
void serve_replyf(struct serve_request *request, int status, const char *fmt, ...) /* text/plain */
    __attribute__((format(printf, 3, 4)));
/* From now on every answer closes its connection, so that clients turn elsewhere without losing a request. */
void serve_drain(struct serve *serve);
/* Not from inside a callback of the loop: it runs the loop until its sockets are closed. */
void serve_free(struct serve *serve);
