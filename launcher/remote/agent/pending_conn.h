/* A connection to an agent that is not accepted yet: it performs the handshake, which proves that the client
 * has the key, and sends its request, all within a deadline and in bounded memory. */
#pragma once

#include "launcher/remote/agent/conn_eviction.h"
#include "launcher/remote/protocol/endpoint.h"
#include "launcher/remote/protocol/frame.h"
#include "launcher/remote/protocol/agent_conn.h"

#define PENDING_CONN_TIMEOUT_MS 10000

struct pending_conn {
    struct conn_origin member; /* has_key: its first message shows it, see handshake() */
    char from[ENDPOINT_TEXT_MAX];
    int64_t deadline_ms;
    const struct identity *own; /* the agent's; borrowed */
    struct identity identity;
    enum rejection rejection;
    bool is_admitted; /* its identity is valid; whether it has the key is not known yet */
    bool is_linked;
    bool is_waiting; /* for the end of an older attempt */
    struct psk *tls;
    struct agent_conn agent_conn;
    struct str line; /* of the shell */
};

enum pending_conn_state {
    PENDING_CONN_WAITING,
    PENDING_CONN_READY,    /* `line` is to be run; the caller takes over the connection */
    PENDING_CONN_DONE,     /* a probe: the client only asked whether the agent runs */
    PENDING_CONN_REJECTED, /* for `rejection` */
};

/* Takes ownership of the socket. */
struct pending_conn *pending_conn_new(struct psk_context *context, int fd, const struct identity *own,
                                      int64_t now_ms);
void pending_conn_free(struct pending_conn *conn);   /* closes the connection */
void pending_conn_detach(struct pending_conn *conn); /* in the child that does not use the connection */

int pending_conn_fd(const struct pending_conn *conn);
short pending_conn_events(const struct pending_conn *conn);
enum pending_conn_state pending_conn_process(struct pending_conn *conn, int64_t now_ms);
