/* One request of an HTTP server: what has arrived of it, who answers it, and how the answer leaves. Knows
 * nothing of ports and certificates. Private to base/io/serve*.c. */
#pragma once

#include <libwebsockets.h>

#include "base/io/serve.h"
#include "base/io/serve_crowd.h"

/* What a request needs of its server; libwebsockets hands it over as the context's user. */
struct serve_side {
    struct serve_crowd crowd;
    const struct serve_route *routes;
    bool draining;
};

/* What libwebsockets has to say of a connection; other than 0 closes it. */
int serve_request_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len);
