/* Reverse proxy of a standby: it has no data of jobs, so it forwards such requests to the leader, once. */
#pragma once

#include "base/http/http_server.h"

struct leader_proxy;

#define LEADER_PROXY_REQUESTS_MAX 16u /* forwarded requests at a time */

MUST_USE struct leader_proxy *leader_proxy_new(struct loop *loop, struct err *err);
void leader_proxy_free(struct leader_proxy *proxy); /* after the server is freed */
struct leader_endpoint {
    const char *address; /* "host:port" */
    const char *key;     /* as in leader_note.h; NULL: it is not known */
};

/* Forwards to the leader; `request` is answered in any case. */
void leader_proxy_forward(struct leader_proxy *proxy, struct http_server_request *request,
                          const struct http_server_request_info *view, const struct leader_endpoint *leader);
void leader_proxy_cancel(struct leader_proxy *proxy, struct http_server_request *request); /* it left */
/* It comes from a standby: do not forward it again. */
bool leader_proxy_is_forwarded(const struct http_server_request_info *view);
/* It shows this key. NULL: nobody can. */
bool leader_proxy_is_trusted(const struct http_server_request_info *view, const char *key);
