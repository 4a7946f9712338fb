#include "launcher/remote/client/probe.h"

#include <poll.h>

#include "launcher/process/signals.h"
#include "launcher/remote/client/dial.h"
#include "launcher/remote/protocol/endpoint.h"
#include "launcher/remote/protocol/key.h"
#include "launcher/remote/protocol/agent_conn.h"
#include "launcher/process/signal_fd.h"

static bool await_answer(struct agent_conn *conn, struct err *err)
{
    struct frame frame = {0};
    bool got = false;

    while (!got) {
        struct pollfd ready = {.fd = agent_conn_fd(conn), .events = agent_conn_events(conn)};
        int64_t now_ms = signals_now_ms();

        if (!agent_conn_process(conn, now_ms, err) || !agent_conn_next_frame(conn, &frame, &got, err))
            return false;
        if (!got && conn->is_closed)
            return err_set(err, ERR_IO, "its agent closed the connection");
        if (!got)
            (void)poll(&ready, 1, poll_timeout_ms(now_ms, agent_conn_deadline_ms(conn)));
    }
    return frame.type == FRAME_ALIVE || err_set(err, ERR_INVALID, "its agent sent an invalid response");
}

static bool ask(struct psk_context *context, const struct envv *env, struct err *err)
{
    struct sockaddr_storage address;
    struct agent_conn conn;
    struct psk *tls;
    socklen_t len;
    bool answered;

    if (!endpoint_own(env, &address, &len, err) || !dial_once(context, &address, len, &tls, err))
        return false;
    agent_conn_init(&conn, tls, signals_now_ms());
    agent_conn_send_number(&conn, FRAME_PROBE, 0, 0);
    answered = await_answer(&conn, err);
    agent_conn_close(&conn);
    return answered;
}

bool probe_agent(const struct envv *env, struct err *err)
{
    struct psk_context *context;
    bool answered;

    if (!key_open_local(env, &context, err))
        return false;
    answered = ask(context, env, err) || err_wrap(err, "the agent of this pod is not ready");
    psk_context_free(context);
    return answered;
}
