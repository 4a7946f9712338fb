/* The server side of gRPC: listens, accepts calls from many connections, passes each complete message to one
 * handler, and sends its reply. It rejects requests that are not gRPC, and bodies, calls and
 * connections beyond the limits. At a limit, it closes connections that are not in use, or use the most
 * (eviction.h). It does not interpret messages.
 *
 * The handler must finish every message exactly once, by grpc_server_reply, grpc_server_reject or
 * grpc_server_drop, at once or later; the handle is invalid after that. This also holds if the caller has
 * cancelled the call, or its deadline has passed: the reply is then discarded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "base/io/loop.h"

struct grpc_server;
struct grpc_server_call;
struct tls_context; /* vipu/wire/transport/tls_context.h */

/* How many messages a call of a method has. */
enum grpc_method_kind {
    GRPC_UNARY,
    GRPC_EXCHANGE, /* a reply for each of the caller's small messages, in order, until it has sent the last */
    GRPC_WATCH,    /* a reply at once; the call stays open until its caller leaves */
};

/* path is "/package.Service/Method", borrowed. */
typedef enum grpc_method_kind (*grpc_method_kind_fn)(struct slice path);

struct grpc_server_options {
    grpc_method_kind_fn kind_of; /* NULL: all methods are unary */
    size_t max_request;          /* bytes of one message; 0: 4 MiB */
    uint32_t max_connections;    /* 0: 256 */
    uint32_t max_calls;          /* in flight on one connection; 0: 1000 */
    size_t max_unsent;           /* a connection with so many unread bytes gets no more replies; 0: 16 MiB */
    size_t max_memory;           /* bytes kept for all clients together, and one reply more; 0: 32 MiB */
    uint32_t stall_ms;           /* for a request to be completed, and a reply to be read on; 0: 10 s */
};

/* Both are borrowed for the call. */
typedef void (*grpc_server_fn)(void *ctx, struct grpc_server_call *call, struct slice path,
                               struct slice message);

struct grpc_server *grpc_server_new(struct loop *loop, const struct grpc_server_options *options,
                                    grpc_server_fn fn, void *ctx);
/* New connections use TLS with this certificate, existing ones keep theirs: call it again to change the
 * certificate. NULL: cleartext. Takes ownership of the context. */
void grpc_server_set_tls_take(struct grpc_server *server, struct tls_context *context);
/* "HOST:PORT" as sock_listen has it. */
MUST_USE bool grpc_server_listen(struct grpc_server *server, const char *address, struct err *err);
/* While it is paused, calls wait to be run, and end at their deadlines. Not from inside a call. */
void grpc_server_set_paused(struct grpc_server *server, bool is_paused);
uint32_t grpc_server_port(const struct grpc_server *server); /* the address and port in use */
void grpc_server_free(struct grpc_server *server);           /* closes every connection; accepts NULL */

/* The user id that the caller sent, "" without one: printable ASCII within the limits of credentials.h.
 * Borrowed until the call is finished. Callers with an invalid user id or key are rejected before the
 * handler sees the call. */
const char *grpc_server_call_user_id(const struct grpc_server_call *call);
const char *grpc_server_call_access_key(const struct grpc_server_call *call);
/* The common name of the client's certificate, which was verified; "" without one. Borrowed. */
const char *grpc_server_call_certificate(const struct grpc_server_call *call);
/* The address that it comes from, without a port; "" if its caller is gone. Borrowed. */
const char *grpc_server_call_peer(const struct grpc_server_call *call);
/* A random number of the call's connection, unlike those of others before and after it. */
uint64_t grpc_server_call_connection(const struct grpc_server_call *call);
/* Time of the loop after which its caller does not wait any more; INT64_MAX: it named none. */
int64_t grpc_server_call_deadline_ms(const struct grpc_server_call *call);
const char *grpc_server_call_path(const struct grpc_server_call *call); /* "" if it is too long */

void grpc_server_reply(struct grpc_server_call *call, struct slice message);
void grpc_server_reject(struct grpc_server_call *call, int grpc_status, const char *text);
/* Closes the call's connection, and with it every other call of that connection, without a response. Like
 * grpc_server_drop_all not from inside the handler. */
void grpc_server_drop(struct grpc_server_call *call);
void grpc_server_drop_all(struct grpc_server *server);
