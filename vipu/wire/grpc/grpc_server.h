/* The answering side of gRPC: listens, takes unary calls from many connections, hands each whole request to
 * one handler, and sends its reply. It refuses what is no gRPC call, bodies and numbers of calls and
 * connections past the limits, and to interpret messages.
 *
 * Every call the handler is given it must answer exactly once, by grpc_server_reply, grpc_server_reject or
 * grpc_server_drop, now or later; the handle is gone with that. A caller that gave up in between does not
 * excuse it: the answer is then dropped. */
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

struct grpc_server_options {
    size_t max_request;       /* bytes of one message; 0: 4 MiB */
    uint32_t max_connections; /* 0: 256 */
    uint32_t max_calls;       /* in flight on one connection; 0: 1000 */
    size_t max_unsent;        /* bytes of replies a connection may leave unread; 0: 64 MiB */
};

/* path is "/package.Service/Method"; both are borrowed for the call. */
typedef void (*grpc_server_fn)(void *ctx, struct grpc_server_call *call, struct slice path,
                               struct slice message);

struct grpc_server *grpc_server_new(struct loop *loop, const struct grpc_server_options *options,
                                    grpc_server_fn fn, void *ctx);
/* Connections that are accepted from now on speak TLS with this certificate, and those there are go on with
 * theirs: call it again to change the certificate. NULL: cleartext. The context is taken over. */
void grpc_server_set_tls_take(struct grpc_server *server, struct tls_context *context);
/* "HOST:PORT" as sock_listen has it. */
MUST_USE bool grpc_server_listen(struct grpc_server *server, const char *address, struct err *err);
uint32_t grpc_server_port(const struct grpc_server *server); /* what was listened on */
void grpc_server_free(struct grpc_server *server);           /* closes every connection; NULL is fine */

/* Who the caller says it is, "" when it says nothing: printable ASCII within the limits of credentials.h.
 * Borrowed until the call is answered. Whoever sends more than a user id and a key may be is refused before
 * the handler hears of the call. */
const char *grpc_server_call_user_id(const struct grpc_server_call *call);
const char *grpc_server_call_access_key(const struct grpc_server_call *call);

void grpc_server_reply(struct grpc_server_call *call, struct slice message);
void grpc_server_reject(struct grpc_server_call *call, int grpc_status, const char *text);
/* Closes the call's connection, and with it every other call of that connection, without a word. Like
 * grpc_server_drop_all not from inside the handler. */
void grpc_server_drop(struct grpc_server_call *call);
void grpc_server_drop_all(struct grpc_server *server);
