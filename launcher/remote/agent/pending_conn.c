#include "launcher/remote/agent/pending_conn.h"

#include <poll.h>

#include "base/core/mem.h"

static bool admits(void *ctx, const char *text)
{
    struct pending_conn *conn = ctx;

    conn->rejection = identity_check(conn->own, text, &conn->identity);
    conn->is_admitted = conn->rejection == REJECTION_NONE;
    return conn->is_admitted;
}

struct pending_conn *pending_conn_new(struct psk_context *context, int fd, const struct identity *own,
                                      int64_t now_ms)
{
    struct pending_conn *conn = NEW(struct pending_conn);

    *conn = (struct pending_conn){.own = own,
                                  .deadline_ms = now_ms + PENDING_CONN_TIMEOUT_MS,
                                  .line = {.max = FRAME_COMMAND_LINE_MAX_BYTES}};
    conn->tls = psk_server_new(context, fd, admits, conn);
    return conn;
}

/* A client with the key may know why it is rejected; it is not waited for. */
static void explain(struct pending_conn *conn)
{
    struct err err;

    agent_conn_send_bytes(&conn->agent_conn, FRAME_FAILED, 0, slice_of(rejection_text(conn->rejection)));
    (void)!agent_conn_process(&conn->agent_conn, conn->agent_conn.last_received_ms, &err);
}

void pending_conn_free(struct pending_conn *conn)
{
    if (conn->is_linked && conn->rejection != REJECTION_NONE)
        explain(conn);
    if (conn->is_linked)
        agent_conn_close(&conn->agent_conn);
    else
        psk_close(conn->tls);
    str_release(&conn->line);
    mem_free(conn);
}

void pending_conn_detach(struct pending_conn *conn)
{
    if (conn->is_linked)
        agent_conn_detach(&conn->agent_conn);
    else
        psk_detach(conn->tls);
    str_release(&conn->line);
    mem_free(conn);
}

int pending_conn_fd(const struct pending_conn *conn)
{
    return conn->is_linked ? agent_conn_fd(&conn->agent_conn) : psk_fd(conn->tls);
}

short pending_conn_events(const struct pending_conn *conn)
{
    if (conn->is_waiting)
        return 0;
    return conn->is_linked ? agent_conn_events(&conn->agent_conn) : psk_events(conn->tls);
}

static enum pending_conn_state reject(struct pending_conn *conn, enum rejection rejection)
{
    conn->rejection = rejection;
    return PENDING_CONN_REJECTED;
}

/* TLS 1.3 checks together with the identity that the client has made its first message with the key: one that
 * has not fails at once. */
static enum pending_conn_state handshake(struct pending_conn *conn, int64_t now_ms)
{
    bool is_denied;

    switch (psk_handshake(conn->tls, &is_denied)) {
    case PSK_DONE:
        agent_conn_init(&conn->agent_conn, conn->tls, now_ms);
        conn->is_linked = true;
        return PENDING_CONN_WAITING;
    case PSK_AGAIN:
        conn->member.has_key = conn->is_admitted;
        return PENDING_CONN_WAITING;
    case PSK_CLOSED:
    case PSK_FAILED:
        break;
    }
    if (conn->rejection != REJECTION_NONE)
        return PENDING_CONN_REJECTED;
    return reject(conn, conn->is_admitted && is_denied ? REJECTION_KEY : REJECTION_NO_IDENTITY);
}

static enum pending_conn_state take(struct pending_conn *conn, const struct frame *frame)
{
    switch ((int)frame->type) {
    case FRAME_COMMAND:
        if (!str_add(&conn->line, frame->bytes.ptr, frame->bytes.len))
            return reject(conn, REJECTION_REQUEST);
        return PENDING_CONN_WAITING;
    case FRAME_START:
        return conn->line.len ? PENDING_CONN_READY : reject(conn, REJECTION_REQUEST);
    case FRAME_PROBE:
        agent_conn_send_number(&conn->agent_conn, FRAME_ALIVE, 0, 0);
        return PENDING_CONN_DONE;
    default:
        return reject(conn, REJECTION_REQUEST);
    }
}

static enum pending_conn_state listen_to(struct pending_conn *conn, int64_t now_ms)
{
    enum pending_conn_state state = PENDING_CONN_WAITING;
    struct frame frame;
    bool got = true;
    struct err err;

    if (!agent_conn_process(&conn->agent_conn, now_ms, &err))
        return reject(conn, REJECTION_REQUEST);
    while (got && state == PENDING_CONN_WAITING) {
        if (!agent_conn_next_frame(&conn->agent_conn, &frame, &got, &err))
            return reject(conn, REJECTION_REQUEST);
        if (got)
            state = take(conn, &frame);
    }
    if (state == PENDING_CONN_DONE && !agent_conn_process(&conn->agent_conn, now_ms, &err))
        return reject(conn, REJECTION_REQUEST);
    if (state == PENDING_CONN_WAITING && conn->agent_conn.is_closed)
        return reject(conn, REJECTION_REQUEST);
    return state;
}

enum pending_conn_state pending_conn_process(struct pending_conn *conn, int64_t now_ms)
{
    enum pending_conn_state state = PENDING_CONN_WAITING;

    if (conn->is_waiting)
        return PENDING_CONN_READY;
    if (!conn->is_linked)
        state = handshake(conn, now_ms);
    if (conn->is_linked && state == PENDING_CONN_WAITING)
        state = listen_to(conn, now_ms);
    if (state == PENDING_CONN_WAITING && now_ms >= conn->deadline_ms)
        return reject(conn, REJECTION_TIMEOUT);
    return state;
}
