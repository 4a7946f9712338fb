#include "launcher/remote/protocol/agent_conn.h"

#include <poll.h>

#define READ_BYTES 16384u
#define READS_A_TURN 16u
#define IN_MAX_BYTES ((size_t)READ_BYTES * (READS_A_TURN + 2))
#define HARD_OUT_MAX_BYTES ((size_t)LINK_OUT_MAX_BYTES * 8)

void agent_conn_init(struct agent_conn *agent_conn, struct psk *tls, int64_t now_ms)
{
    *agent_conn = (struct agent_conn){.tls = tls,
                                      .in = {.max = IN_MAX_BYTES},
                                      .out = {.max = HARD_OUT_MAX_BYTES},
                                      .last_received_ms = now_ms,
                                      .last_sent_ms = now_ms};
}

static void release(struct agent_conn *agent_conn)
{
    str_release(&agent_conn->in);
    str_release(&agent_conn->out);
    *agent_conn = (struct agent_conn){0};
}

void agent_conn_close(struct agent_conn *agent_conn)
{
    psk_close(agent_conn->tls);
    release(agent_conn);
}

void agent_conn_detach(struct agent_conn *agent_conn)
{
    psk_detach(agent_conn->tls);
    release(agent_conn);
}

int agent_conn_fd(const struct agent_conn *agent_conn)
{
    return psk_fd(agent_conn->tls);
}

short agent_conn_events(const struct agent_conn *agent_conn)
{
    return (short)(POLLIN | (agent_conn->out.len ? POLLOUT : 0));
}

bool agent_conn_is_full(const struct agent_conn *agent_conn)
{
    return agent_conn->out.len >= LINK_OUT_MAX_BYTES;
}

bool agent_conn_has_more(const struct agent_conn *agent_conn)
{
    return psk_has_more(agent_conn->tls);
}

void agent_conn_send(struct agent_conn *agent_conn, const struct frame *frame)
{
    frame_write(frame, &agent_conn->out);
}

void agent_conn_send_number(struct agent_conn *agent_conn, enum frame_type type, uint8_t channel,
                            uint32_t number)
{
    agent_conn_send(agent_conn, &(struct frame){.type = type, .channel = channel, .number = number});
}

void agent_conn_send_bytes(struct agent_conn *agent_conn, enum frame_type type, uint8_t channel,
                           struct slice bytes)
{
    while (bytes.len > 0) {
        size_t len = bytes.len < FRAME_BYTES_MAX ? bytes.len : FRAME_BYTES_MAX;

        agent_conn_send(agent_conn,
                        &(struct frame){.type = type, .channel = channel, .bytes = {bytes.ptr, len}});
        bytes.ptr += len;
        bytes.len -= len;
    }
}

/* A peer that never stops sending must not block everything else: a limited number of reads, then a turn of
 * poll. */
static bool read_some(struct agent_conn *agent_conn, int64_t now_ms, struct err *err)
{
    char bytes[READ_BYTES];

    for (unsigned i = 0; i < READS_A_TURN; i++) {
        size_t len;
        enum psk_outcome outcome = psk_read(agent_conn->tls, bytes, sizeof(bytes), &len);

        if (outcome == PSK_AGAIN)
            return true;
        if (outcome == PSK_CLOSED) {
            agent_conn->is_closed = true;
            return true;
        }
        if (outcome == PSK_FAILED)
            return err_set(err, ERR_IO, "connection lost");
        (void)str_add(&agent_conn->in, bytes, len);
        agent_conn->last_received_ms = now_ms;
    }
    return true;
}

static bool send_some(struct agent_conn *agent_conn, int64_t now_ms, struct err *err)
{
    while (agent_conn->out.len > 0) {
        size_t len;
        enum psk_outcome outcome = psk_write(agent_conn->tls, agent_conn->out.ptr, agent_conn->out.len, &len);

        if (outcome == PSK_AGAIN)
            return true;
        if (outcome != PSK_DONE)
            return err_set(err, ERR_IO, "connection lost");
        str_drop(&agent_conn->out, len);
        agent_conn->last_sent_ms = now_ms;
    }
    return true;
}

bool agent_conn_process(struct agent_conn *agent_conn, int64_t now_ms, struct err *err)
{
    str_drop(&agent_conn->in, agent_conn->taken);
    agent_conn->taken = 0;
    if (!agent_conn->is_closed && !read_some(agent_conn, now_ms, err))
        return false;
    if (now_ms - agent_conn->last_received_ms >= AGENT_CONN_IDLE_TIMEOUT_MS)
        return err_set(err, ERR_TIMEOUT, "no data received for %d s", AGENT_CONN_IDLE_TIMEOUT_MS / 1000);
    if (agent_conn->out.full)
        return err_set(err, ERR_BUSY, "the peer is not reading");
    if (now_ms - agent_conn->last_sent_ms >= AGENT_CONN_HEARTBEAT_MS && agent_conn->out.len == 0)
        agent_conn_send_number(agent_conn, FRAME_HEARTBEAT, 0, 0);
    return send_some(agent_conn, now_ms, err);
}

bool agent_conn_next_frame(struct agent_conn *agent_conn, struct frame *ret, bool *ret_got, struct err *err)
{
    struct slice rest = {str_text(&agent_conn->in) + agent_conn->taken,
                         agent_conn->in.len - agent_conn->taken};
    size_t used;

    if (!frame_read(rest, ret, &used, err))
        return false;
    agent_conn->taken += used;
    *ret_got = used > 0;
    return true;
}

int64_t agent_conn_deadline_ms(const struct agent_conn *agent_conn)
{
    int64_t beat = agent_conn->last_sent_ms + AGENT_CONN_HEARTBEAT_MS,
            silence = agent_conn->last_received_ms + AGENT_CONN_IDLE_TIMEOUT_MS;

    return agent_conn->out.len > 0 || silence < beat ? silence : beat;
}
