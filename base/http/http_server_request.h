/* One request of an HTTP server: what has arrived of it, its handler, and its response. Knows nothing of
 * ports and certificates. Private to base/http/http_server*.c. */
#pragma once

#include <libwebsockets.h>

#include "base/http/http_server.h"
#include "base/http/http_server_conns.h"

/* What a request needs of its server; libwebsockets passes it as the context's user. */
struct http_server_shared {
    struct http_server_conns conns;
    const struct http_server_route *routes;
    bool draining;
};

/* The library's callback for connections; a result other than 0 closes it. */
int http_server_request_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                              size_t len);
