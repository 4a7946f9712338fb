/* Reverse proxy of a standby: it has no data of jobs, so it forwards such requests to the leader, once. */
#pragma once

#include "base/http/http_server.h"

struct leader_proxy;

#define LEADER_PROXY_REQUESTS_MAX 16u /* forwarded requests at a time */

MUST_USE struct leader_proxy *leader_proxy_new(struct loop *loop, struct err *err);
void leader_proxy_free(struct leader_proxy *proxy); /* after the server is freed */
/* Forwards to the leader at "host:port"; `request` is answered in any case. */
void leader_proxy_forward(struct leader_proxy *proxy, struct http_server_request *request,
                          const struct http_server_request_info *view, const char *leader);
void leader_proxy_cancel(struct leader_proxy *proxy, struct http_server_request *request); /* it left */
bool leader_proxy_is_forwarded(
    const struct http_server_request_info *view); /* it comes from a standby: do not forward it again */
