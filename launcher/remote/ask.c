#include "launcher/remote/ask.h"

#include <poll.h>

#include "launcher/process/signals.h"
#include "launcher/remote/dial.h"
#include "launcher/remote/endpoint.h"
#include "launcher/remote/key.h"
#include "launcher/remote/link.h"
#include "launcher/remote/wake.h"

static bool await_answer(struct link *link, struct err *err)
{
    struct frame frame = {0};
    bool got = false;

    while (!got) {
        struct pollfd ready = {.fd = link_fd(link), .events = link_events(link)};
        int64_t now_ms = signals_now_ms();

        if (!link_turn(link, now_ms, err) || !link_next(link, &frame, &got, err))
            return false;
        if (!got && link->is_closed)
            return err_set(err, ERR_IO, "it hung up");
        if (!got)
            (void)poll(&ready, 1, wake_patience_ms(now_ms, link_deadline_ms(link)));
    }
    return frame.type == FRAME_ALIVE || err_set(err, ERR_INVALID, "its answer makes no sense");
}

static bool ask(struct psk_context *context, const struct envv *env, struct err *err)
{
    struct sockaddr_storage address;
    struct link link;
    struct psk *tls;
    socklen_t len;
    bool answered;

    if (!endpoint_own(env, &address, &len, err) || !dial_once(context, &address, len, &tls, err))
        return false;
    link_init(&link, tls, signals_now_ms());
    link_put_number(&link, FRAME_PROBE, 0, 0);
    answered = await_answer(&link, err);
    link_close(&link);
    return answered;
}

bool ask_agent(const struct envv *env, struct err *err)
{
    struct psk_context *context;
    bool answered;

    if (!key_open_neighbour(env, &context, err))
        return false;
    answered = ask(context, env, err) || err_wrap(err, "the agent of this pod is not ready");
    psk_context_free(context);
    return answered;
}
