#include "unit/base/http/exchange.h"

#include <stdio.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "unit/base/http/peer.h"

enum { PATIENCE_S = 100 }; /* over only when something is wrong, however busy the machine */

static void on_done(void *ctx, const struct http_response *res, const struct err *err)
{
    struct exchange *x = ctx;

    x->call = NULL;
    x->done++;
    x->err = *err;
    x->res = *res;
    str_clear(&x->body);
    if (res->body.len > 0)
        (void)str_add(&x->body, res->body.ptr, res->body.len);
    (void)snprintf(x->content_type, sizeof x->content_type, "%s", res->content_type);
    (void)snprintf(x->warning, sizeof x->warning, "%.*s", (int)res->warning.len, res->warning.ptr);
}

void exchange_send(struct exchange *x, struct loop *loop, struct http_client *http,
                   struct http_request request)
{
    request.on_done = on_done;
    request.ctx = x;
    x->loop = loop;
    x->call = http_send(http, &request);
}

/* The condition may depend on things outside the loop, such as a child process: it is looked at every two
 * milliseconds. */
struct wait {
    struct loop *loop;
    struct loop_timer tick;
    int64_t deadline_ms;
    bool (*holds)(void *ctx);
    void *ctx;
    bool late;
};

static void look(struct loop_timer *timer)
{
    struct wait *wait = CONTAINER_OF(timer, struct wait, tick);
    bool holds = wait->holds(wait->ctx);

    wait->late = !holds && loop_clock_ms() > wait->deadline_ms;
    if (holds || wait->late)
        loop_stop(wait->loop);
    else
        loop_timer_start(wait->loop, timer, 2, look);
}

void exchange_run_until(struct loop *loop, bool (*holds)(void *ctx), void *ctx)
{
    struct wait wait = {
        .loop = loop, .deadline_ms = loop_clock_ms() + PATIENCE_S * 1000, .holds = holds, .ctx = ctx};

    loop_timer_start(loop, &wait.tick, 0, look);
    loop_run(loop);
    if (wait.late)
        CHECK_FAIL("what the test waits for did not happen within %d seconds", PATIENCE_S);
}

static bool is_done(void *ctx)
{
    const struct exchange *x = ctx;

    return x->done > 0;
}

void exchange_wait(struct exchange *x)
{
    exchange_run_until(x->loop, is_done, x);
}

struct raw {
    struct peer peer;
    bool good;
};

static bool raw_has_ended(void *ctx)
{
    struct raw *raw = ctx;

    return peer_has_ended(&raw->peer, &raw->good);
}

bool exchange_run_client(struct loop *loop, uint16_t port, bool (*script)(int fd))
{
    struct raw raw = {0};

    peer_start_client(&raw.peer, port, script);
    exchange_run_until(loop, raw_has_ended, &raw);
    return raw.good;
}

void exchange_release(struct exchange *x)
{
    str_release(&x->body);
}
