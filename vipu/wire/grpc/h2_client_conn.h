/* One HTTP/2 connection of a channel with the calls on it. It tells its owner when a call is over, when the
 * peer wants no more of them, and when the connection is gone; the owner frees it. Used by channel.c only. */
#pragma once

#include <stdbool.h>

#include "base/io/loop.h"
#include "vipu/wire/grpc/call.h"
#include "vipu/wire/grpc/credentials.h"
#include "vipu/wire/transport/tls_context.h"

struct h2_client_conn;

struct h2_client_conn_owner {
    void (*call_over)(void *ctx,
                      struct channel_call *call); /* taken off the conn; its err and sent are set */
    void (*retiring)(void *ctx, struct h2_client_conn *conn); /* GOAWAY: give it no further call */
    void (*broken)(void *ctx, struct h2_client_conn *conn, const struct err *err); /* free it now */
};

struct h2_client_conn_options {
    const char *authority; /* these four outlive the conn */
    const char *user_agent;
    const struct credentials *credentials;
    const struct h2_client_conn_owner *owner;
    const struct tls_context *tls; /* NULL: cleartext */
    const char *host;              /* that the peer's certificate has to name */
    void *ctx;
    bool (*may_send)(void *ctx);
    void *may_send_ctx;
};

struct h2_client_conn *h2_client_conn_new_take(struct loop *loop, int fd,
                                               const struct h2_client_conn_options *options);
/* The calls still on it are moved to `orphans`. */
void h2_client_conn_free(struct h2_client_conn *conn, bool reset, struct call_list *orphans);
bool h2_client_conn_has_heard(const struct h2_client_conn *conn); /* the peer has said something sensible */
bool h2_client_conn_is_unresponsive(const struct h2_client_conn *conn,
                                    const struct channel_call *call); /* since it was submitted */
bool h2_client_conn_has_only(const struct h2_client_conn *conn,
                             const struct channel_call *call); /* no other call is on it */

/* May end in broken() before it returns; the call is then with the channel again. */
void h2_client_conn_submit(struct h2_client_conn *conn, struct channel_call *call);
/* No further call: it ends in broken(), later, when those on it are over. */
void h2_client_conn_retire(struct h2_client_conn *conn);
/* Resets the call's stream and takes the call off the conn, into no list. May end in broken(). */
void h2_client_conn_withdraw(struct h2_client_conn *conn, struct channel_call *call);
