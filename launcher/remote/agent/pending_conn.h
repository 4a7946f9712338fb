/* Somebody who has connected to an agent and is not let in yet: it shakes hands, which proves that it has the
 * key, and says what it wants, all within a deadline and in bounded memory. */
#pragma once

#include "launcher/remote/agent/conn_eviction.h"
#include "launcher/remote/protocol/endpoint.h"
#include "launcher/remote/protocol/frame.h"
#include "launcher/remote/protocol/agent_conn.h"

#define PENDING_CONN_TIMEOUT_MS 10000

struct pending_conn {
    struct conn_origin member;
    char from[ENDPOINT_TEXT_MAX];
    int64_t deadline_ms;
    const struct identity *own; /* the agent's; borrowed */
    struct identity identity;
    enum refusal refusal;
    bool is_admitted; /* its identity is one of ours; whether it has the key is not known yet */
    bool is_linked;
    bool is_waiting; /* for the end of an older attempt */
    struct psk *tls;
    struct agent_conn agent_conn;
    struct str line; /* of the shell */
};

enum pending_conn_state {
    PENDING_CONN_WAITING,
    PENDING_CONN_READY,    /* `line` is to be run; the caller takes the connection */
    PENDING_CONN_DONE,     /* it only asked whether we are here */
    PENDING_CONN_REJECTED, /* for `refusal` */
};

/* The socket moves in. */
struct pending_conn *pending_conn_new(struct psk_context *context, int fd, const struct identity *own,
                                      int64_t now_ms);
void pending_conn_free(struct pending_conn *pending_conn);   /* hangs up */
void pending_conn_detach(struct pending_conn *pending_conn); /* in the process that does not go on with it */

int pending_conn_fd(const struct pending_conn *pending_conn);
short pending_conn_events(const struct pending_conn *pending_conn);
enum pending_conn_state pending_conn_process(struct pending_conn *pending_conn, int64_t now_ms);
