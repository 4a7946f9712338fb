/* Passes authorized requests on to a handler (authz.h), and answers the others itself: 401 and 403, 429 when
 * too many reviews are in progress, 503 when the API server does not respond. Tokens are not kept. */
#pragma once

#include "base/http/http_server.h"

struct auth_filter;
struct kube;

#define AUTH_FILTER_REVIEWS_MAX 8u /* requests with reviews in progress */

/* `kube` may have no write gate: replicas that do not lead answer too. `handler` answers authorized requests.
 */
struct auth_filter *auth_filter_new(struct kube *kube,
                                    void (*handler)(void *ctx, struct http_server_request *request),
                                    void *ctx);
void auth_filter_free(struct auth_filter *filter); /* after the server is freed */
/* A http_server_handler_fn and a http_server_cancel_fn; ctx is the filter. */
void auth_filter_handle(void *ctx, struct http_server_request *request,
                        const struct http_server_request_info *view);
void auth_filter_cancel(void *ctx, struct http_server_request *request);
