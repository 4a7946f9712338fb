#include "launcher/remote/protocol/agent_conn.h"

#include <poll.h>

#define READ_BYTES 16384u
#define READS_A_TURN 16u
#define IN_MAX_BYTES ((size_t)READ_BYTES * (READS_A_TURN + 2))
#define HARD_OUT_MAX_BYTES ((size_t)LINK_OUT_MAX_BYTES * 8)

void agent_conn_init(struct agent_conn *conn, struct psk *tls, int64_t now_ms)
{
    *conn = (struct agent_conn){.tls = tls,
                                .in = {.max = IN_MAX_BYTES},
                                .out = {.max = HARD_OUT_MAX_BYTES},
                                .last_received_ms = now_ms,
                                .last_sent_ms = now_ms};
}

static void release(struct agent_conn *conn)
{
    str_release(&conn->in);
    str_release(&conn->out);
    *conn = (struct agent_conn){0};
}

void agent_conn_close(struct agent_conn *conn)
{
    psk_close(conn->tls);
    release(conn);
}

void agent_conn_detach(struct agent_conn *conn)
{
    psk_detach(conn->tls);
    release(conn);
}

int agent_conn_fd(const struct agent_conn *conn)
{
    return psk_fd(conn->tls);
}

short agent_conn_events(const struct agent_conn *conn)
{
    return (short)(POLLIN | (conn->out.len ? POLLOUT : 0));
}

bool agent_conn_is_full(const struct agent_conn *conn)
{
    return conn->out.len >= LINK_OUT_MAX_BYTES;
}

bool agent_conn_has_more(const struct agent_conn *conn)
{
    return psk_has_more(conn->tls);
}

static void send_frame(struct agent_conn *conn, const struct frame *frame)
{
    frame_write(frame, &conn->out);
}

void agent_conn_send_number(struct agent_conn *conn, enum frame_type type, uint8_t channel, uint32_t number)
{
    send_frame(conn, &(struct frame){.type = type, .channel = channel, .number = number});
}

void agent_conn_send_bytes(struct agent_conn *conn, enum frame_type type, uint8_t channel, struct slice bytes)
{
    while (bytes.len > 0) {
        size_t len = bytes.len < FRAME_BYTES_MAX ? bytes.len : FRAME_BYTES_MAX;

        send_frame(conn, &(struct frame){.type = type, .channel = channel, .bytes = {bytes.ptr, len}});
        bytes.ptr += len;
        bytes.len -= len;
    }
}

/* A peer that never stops sending must not block everything else: a limited number of reads, then a turn of
 * poll. */
static bool read_some(struct agent_conn *conn, int64_t now_ms, struct err *err)
{
    char bytes[READ_BYTES];

    for (unsigned i = 0; i < READS_A_TURN; i++) {
        size_t len;
        enum psk_outcome outcome = psk_read(conn->tls, bytes, sizeof(bytes), &len);

        if (outcome == PSK_AGAIN)
            return true;
        if (outcome == PSK_CLOSED) {
            conn->is_closed = true;
            return true;
        }
        if (outcome == PSK_FAILED)
            return err_set(err, ERR_IO, "connection lost");
        (void)str_add(&conn->in, bytes, len);
        conn->last_received_ms = now_ms;
    }
    return true;
}

static bool send_some(struct agent_conn *conn, int64_t now_ms, struct err *err)
{
    while (conn->out.len > 0) {
        size_t len;
        enum psk_outcome outcome = psk_write(conn->tls, conn->out.ptr, conn->out.len, &len);

        if (outcome == PSK_AGAIN)
            return true;
        if (outcome != PSK_DONE)
            return err_set(err, ERR_IO, "connection lost");
        str_drop(&conn->out, len);
        conn->last_sent_ms = now_ms;
    }
    return true;
}

bool agent_conn_process(struct agent_conn *conn, int64_t now_ms, struct err *err)
{
    str_drop(&conn->in, conn->taken);
    conn->taken = 0;
    if (!conn->is_closed && !read_some(conn, now_ms, err))
        return false;
    if (now_ms - conn->last_received_ms >= AGENT_CONN_IDLE_TIMEOUT_MS)
        return err_set(err, ERR_TIMEOUT, "no data received for %d s", AGENT_CONN_IDLE_TIMEOUT_MS / 1000);
    if (conn->out.full)
        return err_set(err, ERR_BUSY, "the peer is not reading");
    if (now_ms - conn->last_sent_ms >= AGENT_CONN_HEARTBEAT_MS && conn->out.len == 0)
        agent_conn_send_number(conn, FRAME_HEARTBEAT, 0, 0);
    return send_some(conn, now_ms, err);
}

bool agent_conn_next_frame(struct agent_conn *conn, struct frame *ret, bool *ret_got, struct err *err)
{
    struct slice rest = {str_text(&conn->in) + conn->taken, conn->in.len - conn->taken};
    size_t used;

    if (!frame_read(rest, ret, &used, err))
        return false;
    conn->taken += used;
    *ret_got = used > 0;
    return true;
}

int64_t agent_conn_deadline_ms(const struct agent_conn *conn)
{
    int64_t beat = conn->last_sent_ms + AGENT_CONN_HEARTBEAT_MS,
            silence = conn->last_received_ms + AGENT_CONN_IDLE_TIMEOUT_MS;

    return conn->out.len > 0 || silence < beat ? silence : beat;
}
