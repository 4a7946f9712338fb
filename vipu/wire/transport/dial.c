#include "vipu/wire/transport/dial.h"

#include <string.h>

#include "base/core/mem.h"
#include "vipu/wire/transport/resolve.h"
#include "vipu/wire/transport/sock.h"

struct dial {
    struct loop *loop;
    struct resolve *resolve;
    struct resolve_address addresses[RESOLVE_MAX];
    size_t count, next;
    struct sock sock;
    struct loop_timer timer;
    unsigned idle_timeout_ms;
    struct err err;     /* of the last address tried */
    struct err useless; /* the error of a peer that responds but cannot be used is more useful than that of
                           one that does not */
    dial_fn fn;
    void *ctx;
};

void dial_free(struct dial *dial)
{
    if (!dial)
        return;
    loop_timer_stop(&dial->timer);
    resolve_cancel(dial->resolve);
    sock_close(&dial->sock, false);
    mem_free(dial);
}

/* The last use of the dial: the callback may free it. */
static void finish(struct dial *dial, int fd)
{
    struct err err = dial->useless.kind != ERR_NONE ? dial->useless : dial->err;

    dial->fn(dial->ctx, fd, &err);
}

static void try_next(struct dial *dial);

static void on_slow(struct loop_timer *timer)
{
    struct dial *dial = CONTAINER_OF(timer, struct dial, timer);

    sock_close(&dial->sock, true);
    err_set(&dial->err, ERR_TIMEOUT, "connect: timed out after %d ms", DIAL_ADDRESS_MS);
    try_next(dial);
}

static void on_connected(struct sock *sock, bool readable, bool writable)
{
    struct dial *dial = CONTAINER_OF(sock, struct dial, sock);
    int failure = 0, fd;
    socklen_t len = sizeof(failure);

    (void)readable;
    (void)writable;
    getsockopt(sock->fd, SOL_SOCKET, SO_ERROR, &failure, &len);
    loop_timer_stop(&dial->timer);
    if (failure == 0) {
        fd = sock_take(sock);
        finish(dial, fd);
        return;
    }
    err_errno(&dial->err, failure, "connect");
    sock_close(sock, false);
    try_next(dial);
}

static void try_next(struct dial *dial)
{
    while (dial->next < dial->count) {
        const struct resolve_address *to = &dial->addresses[dial->next++];
        int fd =
            sock_connect((const struct sockaddr *)&to->address, to->len, dial->idle_timeout_ms, &dial->err);

        if (fd < 0)
            continue;
        sock_open_take(&dial->sock, dial->loop, fd, on_connected);
        sock_want(&dial->sock, false, true);
        loop_timer_start(dial->loop, &dial->timer, DIAL_ADDRESS_MS, on_slow);
        return;
    }
    finish(dial, -1);
}

static void on_resolved(void *ctx, const struct resolve_address *addresses, size_t count,
                        const struct err *err)
{
    struct dial *dial = ctx;

    dial->resolve = NULL;
    memcpy(dial->addresses, addresses, count * sizeof(addresses[0]));
    dial->count = count;
    dial->err = *err;
    try_next(dial);
}

static void on_no_name(struct loop_timer *timer)
{
    finish(CONTAINER_OF(timer, struct dial, timer), -1);
}

struct dial *dial_start(struct loop *loop, const char *host, uint32_t port, unsigned idle_timeout_ms,
                        dial_fn fn, void *ctx)
{
    struct dial *dial = NEW(struct dial);

    dial->loop = loop;
    dial->sock.fd = -1;
    dial->idle_timeout_ms = idle_timeout_ms;
    dial->fn = fn;
    dial->ctx = ctx;
    dial->resolve = resolve_start(loop, host, port, on_resolved, dial);
    if (!dial->resolve) {
        err_set(&dial->err, ERR_INVALID, "invalid host name \"%.64s\"", host);
        loop_timer_start(loop, &dial->timer, 0, on_no_name);
    }
    return dial;
}

bool dial_has_next(const struct dial *dial)
{
    return dial->next < dial->count;
}

static void on_next(struct loop_timer *timer)
{
    try_next(CONTAINER_OF(timer, struct dial, timer));
}

void dial_next(struct dial *dial, const struct err *why)
{
    dial->useless = *why;
    loop_timer_start(dial->loop, &dial->timer, 0, on_next);
}
