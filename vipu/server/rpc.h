/* One call of the user API while vipu-server works on it. Every call is answered exactly once, through here,
 * so that each is counted with its status and duration. The handle is gone with the answer. */
#pragma once

#include <stdint.h>

#include "base/core/str.h"
#include "vipu/server/metrics.h"
#include "vipu/server/users.h"
#include "vipu/wire/service.h"

struct rpc {
    struct service_call *call;
    struct metrics *metrics;
    size_t method;           /* its place in the metrics */
    const struct user *user; /* who asks, while it is carried out; NULL: everybody */
    int64_t begun_us;
};

struct rpc *rpc_new(struct service_call *call, struct metrics *metrics, size_t method);
void rpc_reply(struct rpc *rpc, struct slice message);
void rpc_refuse(struct rpc *rpc, int grpc_status, const char *text);
