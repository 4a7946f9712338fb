/* Lets requests for a page through when access.h says so, and answers the others itself: 401 and 403, 429
 * when too many are being asked about, 503 when the API server does not say. Tokens are not kept. */
#pragma once

#include "base/io/serve.h"

struct guard;
struct kube;

#define GUARD_REVIEWS_MAX 8u /* that are asked about at the same time */

/* `kube` may have no write gate: replicas that do not lead answer too. `let` answers whom it lets through. */
struct guard *guard_new(struct kube *kube, void (*let)(void *ctx, struct serve_request *request), void *ctx);
void guard_free(struct guard *guard); /* after the server is freed */
/* A serve_fn and a serve_gone_fn; ctx is the guard. */
void guard_ask(void *ctx, struct serve_request *request, const struct serve_view *view);
void guard_forget(void *ctx, struct serve_request *request);
