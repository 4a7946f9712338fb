#include "launcher/remote/client/dial.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/core/backoff.h"
#include "launcher/process/signals.h"
#include "launcher/remote/protocol/endpoint.h"
#include "launcher/process/signal_fd.h"

static const struct backoff retry = {.first_ms = 50, .max_ms = 1000};

static bool handshake(struct psk *tls, int64_t deadline_ms, struct err *err)
{
    for (;;) {
        struct pollfd ready = {.fd = psk_fd(tls)};
        bool is_denied;
        enum psk_outcome outcome = psk_handshake(tls, &is_denied);

        if (outcome == PSK_DONE)
            return true;
        if (is_denied)
            return err_set(err, ERR_DENIED,
                           "its agent rejected the key: the worker or this launcher belongs to another job "
                           "or an earlier attempt");
        if (outcome != PSK_AGAIN)
            return err_set(err, ERR_IO, "its agent closed the connection");
        ready.events = psk_events(tls);
        if (poll(&ready, 1, poll_timeout_ms(signals_now_ms(), deadline_ms)) <= 0)
            return err_set(err, ERR_TIMEOUT, "its agent does not respond");
    }
}

static bool try_once(struct psk_context *context, const struct sockaddr_storage *address, socklen_t len,
                     int64_t deadline_ms, struct psk **ret, struct err *err)
{
    struct psk *tls;
    int fd;

    (void)signal(SIGPIPE, SIG_IGN); /* the agent may close the connection at any time */
    if (!endpoint_connect(address, len, deadline_ms, &fd, err))
        return false;
    tls = psk_client_new(context, fd);
    if (handshake(tls, deadline_ms, err)) {
        *ret = tls;
        return true;
    }
    psk_detach(tls);
    return false;
}

bool dial(struct psk_context *context, const struct sockaddr_storage *address, socklen_t len,
          struct psk **ret, struct err *err)
{
    int64_t deadline_ms = signals_now_ms() + DIAL_TIMEOUT_MS;
    /* mpirun starts many clients at a time: they do not come again at the same time. */
    uint32_t jitter = (uint32_t)getpid() * 2654435761u;

    for (unsigned failures = 1; !try_once(context, address, len, deadline_ms, ret, err); failures++) {
        int64_t delay_ms = backoff_delay_ms(&retry, failures, jitter);

        if (err->kind == ERR_DENIED || signals_now_ms() + delay_ms >= deadline_ms)
            return false;
        (void)poll(NULL, 0, (int)delay_ms);
    }
    return true;
}

bool dial_once(struct psk_context *context, const struct sockaddr_storage *address, socklen_t len,
               struct psk **ret, struct err *err)
{
    return try_once(context, address, len, signals_now_ms() + DIAL_TIMEOUT_MS, ret, err);
}
