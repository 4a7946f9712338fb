/* One HTTP request of a test, and what became of it. */
#pragma once

#include "base/http/http_client.h"
#include "base/io/loop.h"

struct exchange {
    struct loop *loop;
    struct http_call *call; /* NULL once on_done has run */
    int done;               /* how often on_done ran */
    struct err err;
    struct http_response res; /* its borrowed parts are copied: */
    struct str body;
    char content_type[128];
    char warning[128];
};

/* Sends; on_done and ctx of the request are the exchange's. */
void exchange_send(struct exchange *x, struct loop *loop, struct http_client *http,
                   struct http_request request);
/* Runs the loop until the condition holds, looking after every turn; fails the test after ten seconds. */
void exchange_run_until(struct loop *loop, bool (*holds)(void *ctx), void *ctx);
void exchange_wait(struct exchange *x); /* until on_done */
/* Runs the loop until a raw client of the port (see peer.h) has ended; whether its script returned true. */
bool exchange_run_client(struct loop *loop, uint16_t port, bool (*script)(int fd));
void exchange_release(struct exchange *x);
