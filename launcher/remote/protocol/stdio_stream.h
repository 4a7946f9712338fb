/* The ends of a command's standard streams on one side of a connection: a source reads a descriptor and
 * sends the data, a sink writes received data. flow.h has the flow control. Whichever way a stream ends (at
 * its source, or because its sink is closed) the other end is informed, and closes its descriptor. */
#pragma once

#include "launcher/remote/protocol/flow.h"
#include "launcher/remote/protocol/agent_conn.h"

struct source {
    int fd; /* -1: ended */
    uint8_t channel;
    uint32_t credit;
};

struct sink {
    int fd; /* -1: ended, or closed by the reader */
    uint8_t channel;
    struct flow flow;
};

/* Take ownership of the descriptors. */
void source_init(struct source *source, uint8_t channel, int fd);
void sink_init(struct sink *sink, uint8_t channel, int fd);
void source_release(struct source *source);
void sink_release(struct sink *sink);

bool source_is_ready(const struct source *source, const struct agent_conn *conn); /* poll it for reading */
bool sink_is_ready(const struct sink *sink);                                      /* poll it for writing */

/* After poll has reported them ready. */
void source_read(struct source *source, struct agent_conn *conn);
void sink_write(struct sink *sink, struct agent_conn *conn);

/* No more data is wanted, or no more will come: the peer is informed. */
void source_end(struct source *source, struct agent_conn *conn);

/* Frames of their channel. */
MUST_USE bool source_handle_frame(struct source *source, const struct frame *frame, struct err *err);
MUST_USE bool sink_handle_frame(struct sink *sink, const struct frame *frame, struct agent_conn *conn,
                                struct err *err);
