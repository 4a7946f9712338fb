#include "launcher/remote/protocol/stdio_stream.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "base/core/mem.h"

void source_init(struct source *source, uint8_t channel, int fd)
{
    *source = (struct source){fd, channel, FLOW_WINDOW_BYTES};
}

void sink_init(struct sink *sink, uint8_t channel, int fd)
{
    *sink = (struct sink){.fd = fd, .channel = channel};
    flow_init(&sink->flow);
}

static void shut(int *fd)
{
    fd_auto(fd);
    *fd = -1;
}

void source_release(struct source *source)
{
    shut(&source->fd);
}

void sink_release(struct sink *sink)
{
    shut(&sink->fd);
    flow_release(&sink->flow);
}

bool source_is_ready(const struct source *source, const struct agent_conn *conn)
{
    return source->fd >= 0 && source->credit > 0 && !agent_conn_is_full(conn);
}

bool sink_is_ready(const struct sink *sink)
{
    return sink->fd >= 0 && sink->flow.held.len > 0;
}

void source_end(struct source *source, struct agent_conn *conn)
{
    if (source->fd < 0)
        return;
    shut(&source->fd);
    agent_conn_send_number(conn, FRAME_END, source->channel, 0);
}

static bool is_for_later(int errnum)
{
    return errnum == EAGAIN || errnum == EINTR;
}

void source_read(struct source *source, struct agent_conn *conn)
{
    char bytes[FRAME_BYTES_MAX];
    size_t most = source->credit < sizeof(bytes) ? source->credit : sizeof(bytes);
    ssize_t got = read(source->fd, bytes, most);

    if (got < 0 && is_for_later(errno))
        return;
    if (got <= 0) {
        source_end(source, conn);
        return;
    }
    source->credit -= (uint32_t)got;
    agent_conn_send_bytes(conn, FRAME_DATA, source->channel, (struct slice){bytes, (size_t)got});
}

static void drop(struct sink *sink, size_t len, struct agent_conn *conn)
{
    uint32_t credit = flow_drop(&sink->flow, len);

    if (credit)
        agent_conn_send_number(conn, FRAME_CREDIT, sink->channel, credit);
}

static void end_when_empty(struct sink *sink)
{
    if (sink->flow.is_ended && sink->flow.held.len == 0)
        shut(&sink->fd);
}

/* A pipe that poll reports as writable accepts so much without blocking, also if other processes write to
 * it. */
void sink_write(struct sink *sink, struct agent_conn *conn)
{
    size_t most = sink->flow.held.len < PIPE_BUF ? sink->flow.held.len : PIPE_BUF;
    ssize_t put = write(sink->fd, sink->flow.held.ptr, most);

    if (put < 0 && is_for_later(errno))
        return;
    if (put < 0) {
        shut(&sink->fd);
        str_clear(&sink->flow.held);
        agent_conn_send_number(conn, FRAME_STOP, sink->channel, 0);
        return;
    }
    drop(sink, (size_t)put, conn);
    end_when_empty(sink);
}

bool source_handle_frame(struct source *source, const struct frame *frame, struct err *err)
{
    if (frame->type == FRAME_CREDIT)
        return flow_add_credit(&source->credit, frame->number, err);
    if (frame->type == FRAME_STOP) {
        shut(&source->fd);
        return true;
    }
    return err_set(err, ERR_INVALID, "protocol error: wrong direction for channel %u", frame->channel);
}

bool sink_handle_frame(struct sink *sink, const struct frame *frame, struct agent_conn *conn, struct err *err)
{
    if (frame->type == FRAME_END) {
        sink->flow.is_ended = true;
        end_when_empty(sink);
        return true;
    }
    if (frame->type != FRAME_DATA)
        return err_set(err, ERR_INVALID, "protocol error: wrong direction for channel %u", frame->channel);
    if (!flow_take(&sink->flow, frame->bytes, err))
        return false;
    if (sink->fd < 0) /* data that was on its way when it was stopped */
        drop(sink, frame->bytes.len, conn);
    return true;
}
