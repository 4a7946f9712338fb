/* One call of the user API while vipu-server works on it. Every call is answered exactly once, through here,
 * so that each is counted with its status and duration, and so that the answer is what the faults make of it:
 * late, another one, or none. The handle is gone with the answer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/str.h"
#include "vipu/server/calls/delayed_calls.h"
#include "vipu/server/calls/metrics.h"
#include "vipu/server/controller/faults.h"
#include "vipu/server/controller/users.h"
#include "vipu/wire/grpc/grpc_server.h"

struct rpc {
    struct grpc_server_call *call;
    struct metrics *metrics;
    struct delayed_calls *delayed;
    size_t method;           /* its place in the metrics */
    const struct user *user; /* who asks, while it is carried out; NULL: everybody */
    int64_t begun_us;
    uint32_t late_ms;     /* the answer waits so long */
    bool drop;            /* instead of an answer */
    bool unknown_refusal; /* every refusal has the status UNKNOWN */
    int status;           /* of the answer; before, what it is replaced by, or 0 */
    char *text;
    struct str reply; /* while it waits */
};

struct rpc *rpc_new(struct grpc_server_call *call, struct metrics *metrics, struct delayed_calls *delayed,
                    size_t method);
/* The answer that is coming will be what the verdict says. */
void rpc_judge(struct rpc *rpc, const struct fault_verdict *verdict);
void rpc_reply(struct rpc *rpc, struct slice message);
void rpc_refuse(struct rpc *rpc, int grpc_status, const char *text);
