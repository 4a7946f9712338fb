/* One connection of a server with its calls. Used by grpc_server.c only. */
#pragma once

#include <sys/queue.h>

#include "vipu/wire/grpc/grpc_server.h"
#include "vipu/wire/grpc/eviction.h"
#include "vipu/wire/transport/tls.h"

struct grpc_server_conn;

#define GRPC_SERVER_FULL "the controller's memory for calls is used up; try again later"

/* Bytes that are kept for all connections together. */
struct grpc_server_memory {
    size_t used, max;
};

struct grpc_server_conn_owner {
    const struct grpc_server_options *options; /* limits filled in; outlives the connection */
    struct loop *loop;
    grpc_server_fn fn;
    void *fn_ctx;
    const bool *is_paused; /* no calls are run */
    struct grpc_server_memory *memory;
    /* Closes others than this connection, for which so many bytes would be kept, until memory is below its
     * limit. False: this one has to do without. */
    bool (*evict_for_memory)(void *ctx, const struct grpc_server_conn *conn, size_t bytes);
    void (*gone)(void *ctx, struct grpc_server_conn *conn); /* free it now */
    void *ctx;
};

/* Takes ownership of fd and tls (NULL: cleartext). */
struct grpc_server_conn *grpc_server_conn_new_take(int fd, struct tls *tls,
                                                   const struct grpc_server_conn_owner *owner);
/* Sends the server's SETTINGS, which some clients wait for. May end in gone(). */
void grpc_server_conn_send_settings(struct grpc_server_conn *conn);
/* Tells the client that it is closed, as far as the socket takes it, and ends in gone(). Not for one that is
 * pinned. */
void grpc_server_conn_close(struct grpc_server_conn *conn);
struct eviction_candidate grpc_server_conn_eviction_candidate(
    const struct grpc_server_conn *conn);                    /* except for its peer_connections */
void grpc_server_conn_resume(struct grpc_server_conn *conn); /* after a pause */
void grpc_server_conn_free(struct grpc_server_conn *conn);
