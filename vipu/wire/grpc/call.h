/* One unary call of a channel, from channel_call to its callback: in the channel's waiting list, then in a
 * connection's, then in the list of finished calls. Shared by channel.c and h2_client_conn.c only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/io/loop.h"
#include "vipu/wire/grpc/channel.h"
#include "vipu/wire/grpc/response.h"

struct h2_client_conn;

struct channel_call {
    TAILQ_ENTRY(channel_call) entry;
    struct call_list *list; /* the list it is in */
    struct channel *channel;
    struct h2_client_conn *conn; /* while in a connection's list */
    int32_t stream_id;
    uint64_t heard_before; /* the connection's count when it was submitted */
    int64_t deadline_ms;
    struct loop_timer deadline;
    char *path;
    struct str frame;
    size_t frame_sent;
    bool gated;
    bool sent;
    struct response response;
    struct slice message; /* in response */
    struct err err;
    channel_done_fn done;
    void *ctx; /* owned copy */
};

TAILQ_HEAD(call_list, channel_call);

static inline void call_move(struct channel_call *call, struct call_list *to)
{
    if (call->list)
        TAILQ_REMOVE(call->list, call, entry);
    call->list = to;
    if (to)
        TAILQ_INSERT_TAIL(to, call, entry);
}
