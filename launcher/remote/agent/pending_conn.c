#include "launcher/remote/agent/pending_conn.h"

#include <poll.h>

#include "base/core/mem.h"

static bool admits(void *ctx, const char *text)
{
    struct pending_conn *pending_conn = ctx;

    pending_conn->refusal = identity_check(pending_conn->own, text, &pending_conn->identity);
    pending_conn->is_admitted = pending_conn->refusal == REFUSAL_NONE;
    return pending_conn->is_admitted;
}

struct pending_conn *pending_conn_new(struct psk_context *context, int fd, const struct identity *own,
                                      int64_t now_ms)
{
    struct pending_conn *pending_conn = NEW(struct pending_conn);

    *pending_conn = (struct pending_conn){.own = own,
                                          .deadline_ms = now_ms + PENDING_CONN_TIMEOUT_MS,
                                          .line = {.max = FRAME_COMMAND_LINE_MAX_BYTES}};
    pending_conn->tls = psk_server_new(context, fd, admits, pending_conn);
    return pending_conn;
}

/* A client with the key may know why it is rejected; it is not waited for. */
static void explain(struct pending_conn *pending_conn)
{
    struct err err;

    agent_conn_send_bytes(&pending_conn->agent_conn, FRAME_FAILED, 0,
                          slice_of(refusal_text(pending_conn->refusal)));
    (void)!agent_conn_process(&pending_conn->agent_conn, pending_conn->agent_conn.last_received_ms, &err);
}

void pending_conn_free(struct pending_conn *pending_conn)
{
    if (pending_conn->is_linked && pending_conn->refusal != REFUSAL_NONE)
        explain(pending_conn);
    if (pending_conn->is_linked)
        agent_conn_close(&pending_conn->agent_conn);
    else
        psk_close(pending_conn->tls);
    str_release(&pending_conn->line);
    mem_free(pending_conn);
}

void pending_conn_detach(struct pending_conn *pending_conn)
{
    if (pending_conn->is_linked)
        agent_conn_detach(&pending_conn->agent_conn);
    else
        psk_detach(pending_conn->tls);
    str_release(&pending_conn->line);
    mem_free(pending_conn);
}

int pending_conn_fd(const struct pending_conn *pending_conn)
{
    return pending_conn->is_linked ? agent_conn_fd(&pending_conn->agent_conn) : psk_fd(pending_conn->tls);
}

short pending_conn_events(const struct pending_conn *pending_conn)
{
    if (pending_conn->is_waiting)
        return 0;
    return pending_conn->is_linked ? agent_conn_events(&pending_conn->agent_conn)
                                   : psk_events(pending_conn->tls);
}

static enum pending_conn_state refuse(struct pending_conn *pending_conn, enum refusal refusal)
{
    pending_conn->refusal = refusal;
    return PENDING_CONN_REJECTED;
}

static enum pending_conn_state shake(struct pending_conn *pending_conn, int64_t now_ms)
{
    bool is_denied;

    switch (psk_handshake(pending_conn->tls, &is_denied)) {
    case PSK_DONE:
        agent_conn_init(&pending_conn->agent_conn, pending_conn->tls, now_ms);
        pending_conn->is_linked = true;
        return PENDING_CONN_WAITING;
    case PSK_AGAIN:
        return PENDING_CONN_WAITING;
    case PSK_CLOSED:
    case PSK_FAILED:
        break;
    }
    if (pending_conn->refusal != REFUSAL_NONE)
        return PENDING_CONN_REJECTED;
    return refuse(pending_conn, pending_conn->is_admitted && is_denied ? REFUSAL_KEY : REFUSAL_NO_IDENTITY);
}

static enum pending_conn_state take(struct pending_conn *pending_conn, const struct frame *frame)
{
    switch ((int)frame->type) {
    case FRAME_COMMAND:
        if (!str_add(&pending_conn->line, frame->bytes.ptr, frame->bytes.len))
            return refuse(pending_conn, REFUSAL_REQUEST);
        return PENDING_CONN_WAITING;
    case FRAME_START:
        return pending_conn->line.len ? PENDING_CONN_READY : refuse(pending_conn, REFUSAL_REQUEST);
    case FRAME_PROBE:
        agent_conn_send_number(&pending_conn->agent_conn, FRAME_ALIVE, 0, 0);
        return PENDING_CONN_DONE;
    default:
        return refuse(pending_conn, REFUSAL_REQUEST);
    }
}

static enum pending_conn_state listen_to(struct pending_conn *pending_conn, int64_t now_ms)
{
    enum pending_conn_state state = PENDING_CONN_WAITING;
    struct frame frame;
    bool got = true;
    struct err err;

    if (!agent_conn_process(&pending_conn->agent_conn, now_ms, &err))
        return refuse(pending_conn, REFUSAL_REQUEST);
    while (got && state == PENDING_CONN_WAITING) {
        if (!agent_conn_next_frame(&pending_conn->agent_conn, &frame, &got, &err))
            return refuse(pending_conn, REFUSAL_REQUEST);
        if (got)
            state = take(pending_conn, &frame);
    }
    if (state == PENDING_CONN_DONE && !agent_conn_process(&pending_conn->agent_conn, now_ms, &err))
        return refuse(pending_conn, REFUSAL_REQUEST);
    if (state == PENDING_CONN_WAITING && pending_conn->agent_conn.is_closed)
        return refuse(pending_conn, REFUSAL_REQUEST);
    return state;
}

enum pending_conn_state pending_conn_process(struct pending_conn *pending_conn, int64_t now_ms)
{
    enum pending_conn_state state = PENDING_CONN_WAITING;

    if (pending_conn->is_waiting)
        return PENDING_CONN_READY;
    if (!pending_conn->is_linked)
        state = shake(pending_conn, now_ms);
    if (pending_conn->is_linked && state == PENDING_CONN_WAITING)
        state = listen_to(pending_conn, now_ms);
    if (state == PENDING_CONN_WAITING && now_ms >= pending_conn->deadline_ms)
        return refuse(pending_conn, REFUSAL_TIMEOUT);
    return state;
}
