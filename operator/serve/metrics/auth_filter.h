/* Passes authorized requests on to a handler (authz.h), and answers the others itself: 401 and 403, 429 when
 * too many requests wait for their reviews (review_queue.h), 503 when the API server does not respond. Tokens
 * are kept only until they are sent. */
#pragma once

#include "base/http/http_server.h"

struct auth_filter;
struct kube;

/* Answers authorized requests, now or later; `cancel` as in http_server_route. The view has neither
 * the token nor where the request comes from, but for the peer. */
struct auth_filter_handler {
    http_server_handler_fn fn;
    http_server_cancel_fn cancel;
    void *ctx;
};

/* `kube` may have no write gate: replicas that do not lead answer too. */
struct auth_filter *auth_filter_new(struct kube *kube, const struct auth_filter_handler *handler);
void auth_filter_free(struct auth_filter *filter); /* after the server is freed */
/* A http_server_handler_fn and a http_server_cancel_fn; ctx is the filter. */
void auth_filter_handle(void *ctx, struct http_server_request *request,
                        const struct http_server_request_info *view);
void auth_filter_cancel(void *ctx, struct http_server_request *request);
