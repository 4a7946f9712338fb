/* One connection of a server with its calls. Used by grpc_server.c only. */
#pragma once

#include <sys/queue.h>

#include "vipu/wire/grpc/grpc_server.h"
#include "vipu/wire/transport/tls.h"

struct grpc_server_conn;

struct grpc_server_conn_owner {
    const struct grpc_server_options *options; /* limits filled in; outlives the connection */
    struct loop *loop;
    grpc_server_fn fn;
    void *fn_ctx;
    void (*gone)(void *ctx, struct grpc_server_conn *conn); /* free it now */
    void *ctx;
};

/* Takes ownership of fd and tls (NULL: cleartext). */
struct grpc_server_conn *grpc_server_conn_new_take(int fd, struct tls *tls,
                                                   const struct grpc_server_conn_owner *owner);
/* Sends the server's SETTINGS, which some clients wait for. May end in gone(). */
void grpc_server_conn_send_settings(struct grpc_server_conn *conn);
/* Since when it has had no call, on the loop's clock; -1: it has one. */
int64_t grpc_server_conn_idle_since_ms(const struct grpc_server_conn *conn);
void grpc_server_conn_free(struct grpc_server_conn *conn);
