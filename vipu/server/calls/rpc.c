#include "vipu/server/calls/rpc.h"

#include <time.h>

#include "base/core/mem.h"
#include "vipu/wire/grpc/grpc.h"

/* The loop's clock does not advance within a turn, and most calls finish within one. */
static int64_t clock_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

struct rpc *rpc_new(struct grpc_server_call *call, struct metrics *metrics, struct delayed_calls *delayed,
                    size_t method)
{
    struct rpc *rpc = NEW(struct rpc);

    *rpc = (struct rpc){
        .call = call, .metrics = metrics, .delayed = delayed, .method = method, .begun_us = clock_us()};
    return rpc;
}

void rpc_apply_faults(struct rpc *rpc, const struct fault_verdict *verdict)
{
    rpc->late_ms = verdict->late_ms;
    rpc->drop = verdict->drop;
    rpc->status = (int)verdict->status;
    rpc->text = verdict->status ? mem_strdup(verdict->message) : NULL;
}

static void end(struct rpc *rpc, int status)
{
    metrics_count_call(rpc->metrics, rpc->method, status, (uint64_t)(clock_us() - rpc->begun_us));
    str_release(&rpc->reply);
    mem_free(rpc->text);
    mem_free(rpc);
}

static void answer(struct rpc *rpc, struct slice message)
{
    if (rpc->status == GRPC_OK)
        grpc_server_reply(rpc->call, message);
    else
        grpc_server_reject(rpc->call, rpc->status, rpc->text);
    end(rpc, rpc->status);
}

static void answer_now(void *ctx)
{
    struct rpc *rpc = ctx;

    if (!rpc->drop) {
        answer(rpc, str_slice(&rpc->reply));
        return;
    }
    grpc_server_drop(rpc->call);
    end(rpc, GRPC_UNAVAILABLE);
}

/* A connection is dropped from the loop, never from inside its own callback. */
static void answer_later(struct rpc *rpc, struct slice message)
{
    rpc->reply.max = message.len + 1;
    str_add(&rpc->reply, message.ptr, message.len);
    if (delayed_calls_add(rpc->delayed, rpc->late_ms, sizeof(*rpc) + message.len, answer_now, rpc))
        return;
    rpc->status = GRPC_RESOURCE_EXHAUSTED;
    mem_set_str(&rpc->text, "too many delayed responses");
    answer(rpc, (struct slice){0});
}

static void finish(struct rpc *rpc, int status, const char *text, struct slice message)
{
    if (rpc->status == GRPC_OK && status != GRPC_OK) {
        rpc->status = rpc->unknown_rejection ? GRPC_UNKNOWN : status;
        mem_set_str(&rpc->text, text);
    }
    if (rpc->drop || rpc->late_ms > 0)
        answer_later(rpc, message);
    else
        answer(rpc, message);
}

void rpc_reply(struct rpc *rpc, struct slice message)
{
    finish(rpc, GRPC_OK, NULL, message);
}

void rpc_reject(struct rpc *rpc, int grpc_status, const char *text)
{
    finish(rpc, grpc_status, text, (struct slice){0});
}
