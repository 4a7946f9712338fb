/* Passes requests for a page on when authz.h allows them, and answers the others itself: 401 and 403, 429
 * when too many are being asked about, 503 when the API server does not say. Tokens are not kept. */
#pragma once

#include "base/io/serve.h"

struct auth_filter;
struct kube;

#define GUARD_REVIEWS_MAX 8u /* that are asked about at the same time */

/* `kube` may have no write gate: replicas that do not lead answer too. `let` answers whom it lets through. */
struct auth_filter *auth_filter_new(struct kube *kube, void (*let)(void *ctx, struct serve_request *request),
                                    void *ctx);
void auth_filter_free(struct auth_filter *auth_filter); /* after the server is freed */
/* A serve_fn and a serve_gone_fn; ctx is the guard. */
void auth_filter_handle(void *ctx, struct serve_request *request, const struct serve_view *view);
void auth_filter_cancel(void *ctx, struct serve_request *request);
