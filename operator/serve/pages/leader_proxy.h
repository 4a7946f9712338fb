/* Standbys know nothing of jobs: what they are asked about them, they ask the leader, once, and hand its
 * answer on. */
#pragma once

#include "base/io/serve.h"

struct leader_proxy;

#define RELAY_MAX 16u /* requests that are handed on at the same time */

MUST_USE struct leader_proxy *leader_proxy_new(struct loop *loop, struct err *err);
void leader_proxy_free(struct leader_proxy *leader_proxy); /* after the server is freed */
/* The leader at "host:port" is asked the same; `request` is answered in any case. */
void leader_proxy_forward(struct leader_proxy *leader_proxy, struct serve_request *request,
                          const struct serve_view *view, const char *leader);
void leader_proxy_cancel(struct leader_proxy *leader_proxy, struct serve_request *request); /* it left */
bool leader_proxy_is_forwarded(
    const struct serve_view *view); /* it comes from a standby, which is not to be asked back */
