/* The calling side of gRPC: one connection to one address that many unary calls share. It connects when there
 * is something to send, resolves the name anew each time, and backs off after failures; while it backs off
 * calls wait, and when an attempt fails all that wait for it fail. A connection that the peer wants closed
 * finishes its calls while a new one takes the next. Options that cannot be used fail each call, unsent.
 *
 * It refuses to retry and to interpret messages. Callbacks run from the loop, once, never from inside
 * channel_call; a cancelled call's never runs, and channel_free drops the callbacks of all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "base/io/loop.h"

struct channel;
struct channel_call;

/* Who calls, and how the peer is known. Borrowed strings. */
struct channel_credentials {
    const char *user_id; /* sent with every call; NULL or "": none */
    const char *access_key;
    bool tls;            /* implied by ca_file */
    const char *ca_file; /* PEM, read anew for each connection; NULL or "": the system's authorities */
};

struct channel_options {
    const char *host;
    uint32_t port;
    const char *user_agent;
    uint32_t max_in_flight;
    unsigned idle_timeout_ms; /* a peer that takes or acknowledges nothing for so long is given up */
    struct channel_credentials access;
    bool (*may_send)(void *ctx); /* asked before a gated request's bytes go to the socket; NULL: always */
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
    const char *reason;   /* the status text that the peer sent, whole; borrowed, "" when none */
};

typedef void (*channel_done_fn)(void *ctx, const struct channel_reply *reply);

struct channel *channel_new(struct loop *loop, const struct channel_options *options);
void channel_free(struct channel *channel);
/* From the next call on, and with tls and ca_file from the next connection on. */
void channel_set_credentials(struct channel *channel, const struct channel_credentials *access);
/* No call goes out any more, but fails with this, until there is access again. What was known is forgotten.
 */
void channel_reject_calls(struct channel *channel, const struct err *why);
void channel_abort(struct channel *channel); /* resets connections at once; calls fail in the next turn */
const char *channel_target(const struct channel *channel); /* "host:port" */

/* The handle is good until the callback begins or the call is cancelled. */
struct channel_call *channel_call(struct channel *channel, const struct channel_request *request,
                                  channel_done_fn done);
void *channel_call_ctx(struct channel_call *call); /* the copy */
void channel_call_cancel(struct channel_call *call);
