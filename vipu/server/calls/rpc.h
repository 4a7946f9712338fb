/* One call of the user API while vipu-server processes it. Every call gets exactly one response, through
 * here, so that each is counted with its status and duration, and so that faults apply to the response: it
 * may be delayed, replaced or dropped. The handle is invalid after the response. */
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
    size_t method;           /* its index in the metrics */
    const struct user *user; /* the caller, while it runs; NULL: secure mode is off */
    struct user holder;      /* the caller if it is a partition's own user; borrows everything */
    int64_t begun_us;
    uint32_t late_ms;       /* delay of the response */
    bool drop;              /* instead of a response */
    bool unknown_rejection; /* every rejection has the status UNKNOWN */
    int status;             /* of the response; before that, its replacement, or 0 */
    char *text;
    struct str reply; /* while it is delayed */
};

struct rpc *rpc_new(struct grpc_server_call *call, struct metrics *metrics, struct delayed_calls *delayed,
                    size_t method);
/* Applies the verdict to the coming response. */
void rpc_apply_faults(struct rpc *rpc, const struct fault_verdict *verdict);
void rpc_reply(struct rpc *rpc, struct slice message);
void rpc_reject(struct rpc *rpc, int grpc_status, const char *text);
