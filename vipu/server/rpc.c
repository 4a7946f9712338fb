#include "vipu/server/rpc.h"

#include <time.h>

#include "base/core/mem.h"
#include "vipu/wire/grpc.h"

/* The loop's clock stands still within a turn, and most calls are answered within one. */
static int64_t clock_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

struct rpc *rpc_new(struct service_call *call, struct metrics *metrics, size_t method)
{
    struct rpc *rpc = NEW(struct rpc);

    *rpc = (struct rpc){.call = call, .metrics = metrics, .method = method, .begun_us = clock_us()};
    return rpc;
}

static void end(struct rpc *rpc, int status)
{
    metrics_count_call(rpc->metrics, rpc->method, status, (uint64_t)(clock_us() - rpc->begun_us));
    mem_free(rpc);
}

void rpc_reply(struct rpc *rpc, struct slice message)
{
    service_reply(rpc->call, message);
    end(rpc, GRPC_OK);
}

void rpc_refuse(struct rpc *rpc, int grpc_status, const char *text)
{
    service_refuse(rpc->call, grpc_status, text);
    end(rpc, grpc_status);
}
