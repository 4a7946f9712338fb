/* The answering side of gRPC: listens, takes unary calls from many connections, hands each whole request to
 * one handler, and sends its reply. It refuses what is no gRPC call, bodies and numbers of calls and
 * connections past the limits, and to interpret messages.
 *
 * Every call the handler is given it must answer exactly once, by service_reply, service_refuse or
 * service_drop, now or later; the handle is gone with that. A caller that gave up in between does not excuse
 * it: the answer is then dropped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "base/io/loop.h"

struct service;
struct service_call;
struct tls_context; /* vipu/wire/tls_context.h */

struct service_options {
    size_t max_request;       /* bytes of one message; 0: 4 MiB */
    uint32_t max_connections; /* 0: 256 */
    uint32_t max_calls;       /* in flight on one connection; 0: 1000 */
    size_t max_unsent;        /* bytes of replies a connection may leave unread; 0: 64 MiB */
};

/* path is "/package.Service/Method"; both are borrowed for the call. */
typedef void (*service_fn)(void *ctx, struct service_call *call, struct slice path, struct slice message);

struct service *service_new(struct loop *loop, const struct service_options *options, service_fn fn,
                            void *ctx);
/* Connections that are accepted from now on speak TLS with this certificate, and those there are go on with
 * theirs: call it again to change the certificate. NULL: cleartext. The context is taken over. */
void service_tls_take(struct service *service, struct tls_context *context);
/* "HOST:PORT" as sock_listen has it. */
MUST_USE bool service_listen(struct service *service, const char *address, struct err *err);
uint32_t service_port(const struct service *service); /* what was listened on */
void service_free(struct service *service);           /* closes every connection; NULL is fine */

/* Who the caller says it is, "" when it says nothing: printable ASCII within the limits of credentials.h.
 * Borrowed until the call is answered. Whoever sends more than a user id and a key may be is refused before
 * the handler hears of the call. */
const char *service_user_id(const struct service_call *call);
const char *service_access_key(const struct service_call *call);

void service_reply(struct service_call *call, struct slice message);
void service_refuse(struct service_call *call, int grpc_status, const char *text);
/* Closes the call's connection, and with it every other call of that connection, without a word. Like
 * service_drop_all not from inside the handler. */
void service_drop(struct service_call *call);
void service_drop_all(struct service *service);
