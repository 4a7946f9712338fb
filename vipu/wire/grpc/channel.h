/* The client side of gRPC: one connection to one address that many unary calls share. It connects when there
 * is something to send, resolves the name for each connection, and backs off after failures. During the
 * backoff calls wait, and if an attempt fails all waiting calls fail. After GOAWAY a connection finishes its
 * calls while a new one takes the next. Options that cannot be used fail each call, unsent.
 *
 * It never retries and does not interpret messages. Callbacks run from the loop, once, never from inside
 * channel_call; a cancelled call's never runs, and channel_free drops the callbacks of all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "base/io/loop.h"
#include "vipu/wire/transport/tls_context.h"

struct channel;
struct channel_call;

/* The caller's identity, and how the peer is verified. Borrowed strings. */
struct channel_credentials {
    const char *user_id; /* sent with every call; NULL or "": none */
    const char *access_key;
    bool tls;               /* implied by a CA and by a certificate */
    struct tls_files files; /* read for each connection */
};

struct channel_options {
    const char *host;
    uint32_t port;
    const char *user_agent;
    uint32_t max_in_flight;
    unsigned idle_timeout_ms; /* a connection on which the peer accepts or acknowledges nothing for so long is
                                 closed */
    struct channel_credentials access;
    bool (*may_send)(
        void *ctx); /* called before a gated request's bytes go to the socket; NULL: always allowed */
    void *may_send_ctx;
};

struct channel_request {
    const char *path;     /* "/package.Service/Method" */
    struct slice message; /* copied */
    size_t max_reply;     /* bytes */
    int64_t deadline_ms;
    bool gated;
    const void *ctx; /* ctx_bytes of it are copied; the callback gets the copy */
    size_t ctx_bytes;
};

struct channel_reply {
    struct err err;       /* code is the gRPC status */
    bool sent;            /* false: the request took no effect */
    struct slice message; /* borrowed; empty on failure */
    const char *reason;   /* the status message of the peer, complete; borrowed, "" if none */
};

typedef void (*channel_done_fn)(void *ctx, const struct channel_reply *reply);

struct channel *channel_new(struct loop *loop, const struct channel_options *options);
void channel_free(struct channel *channel);
/* Used from the next call on; tls and its files from the next connection on. */
void channel_set_credentials(struct channel *channel, const struct channel_credentials *access);
/* Every call fails with this error, unsent, until credentials are set again. The old ones are wiped. */
void channel_reject_calls(struct channel *channel, const struct err *why);
void channel_abort(struct channel *channel); /* resets connections at once; calls fail in the next turn */
const char *channel_target(const struct channel *channel); /* "host:port" */

/* The handle is valid until the callback starts or the call is cancelled. */
struct channel_call *channel_call(struct channel *channel, const struct channel_request *request,
                                  channel_done_fn done);
void *channel_call_ctx(struct channel_call *call); /* the copy */
void channel_call_cancel(struct channel_call *call);
