/* One HTTP/2 connection of a channel with its calls. It tells its owner when a call has ended, when the peer
 * accepts no more calls, and when the connection is closed; the owner frees it. Used by channel.c only. */
#pragma once

#include <stdbool.h>

#include "base/io/loop.h"
#include "vipu/wire/grpc/call.h"
#include "vipu/wire/grpc/credentials.h"
#include "vipu/wire/transport/tls_context.h"

struct h2_client_conn;

struct h2_client_conn_owner {
    void (*call_over)(void *ctx,
                      struct channel_call *call); /* detached from the connection; its err and sent are set */
    void (*retiring)(void *ctx, struct h2_client_conn *conn); /* GOAWAY: add no further call */
    void (*broken)(void *ctx, struct h2_client_conn *conn, const struct err *err); /* free it now */
};

struct h2_client_conn_options {
    const char *authority; /* these four must outlive the connection */
    const char *user_agent;
    const struct credentials *credentials;
    const struct h2_client_conn_owner *owner;
    const struct tls_context *tls; /* NULL: cleartext */
    const char *host;              /* that the peer's certificate has to contain */
    void *ctx;
    bool (*may_send)(void *ctx);
    void *may_send_ctx;
};

struct h2_client_conn *h2_client_conn_new_take(struct loop *loop, int fd,
                                               const struct h2_client_conn_options *options);
/* Its remaining calls are moved to `orphans`. */
void h2_client_conn_free(struct h2_client_conn *conn, bool reset, struct call_list *orphans);
bool h2_client_conn_has_heard(const struct h2_client_conn *conn); /* the peer has sent a valid frame */
bool h2_client_conn_is_unresponsive(const struct h2_client_conn *conn,
                                    const struct channel_call *call); /* since it was submitted */
bool h2_client_conn_has_only(const struct h2_client_conn *conn,
                             const struct channel_call *call); /* it is the connection's only call */

/* May end in broken() before it returns; the call is then back with the channel. */
void h2_client_conn_submit(struct h2_client_conn *conn, struct channel_call *call);
/* No further calls: it ends in broken(), later, when its calls have finished. */
void h2_client_conn_retire(struct h2_client_conn *conn);
/* Resets the call's stream and detaches the call, without adding it to a list. May end in broken(). */
void h2_client_conn_withdraw(struct h2_client_conn *conn, struct channel_call *call);
