#include "vipu/server/gate.h"

#include <sys/queue.h>

#include "base/core/mem.h"
#include "vipu/server/later.h"
#include "vipu/wire/grpc.h"
#include "vipu/wire/requests.h"

#define STALLED_MAX_BYTES ((size_t)128 << 20)

/* A call that was not carried out yet. */
struct visitor {
    TAILQ_ENTRY(visitor) entry;
    struct gate *gate;
    struct rpc *rpc;
    const char *name; /* of the method; static */
    char *message;
    size_t len;
};

TAILQ_HEAD(visitors, visitor);

struct gate {
    struct loop *loop;
    gate_fn fn;
    void *ctx;
    struct faults faults;
    struct later *later;
    struct visitors stalled;
    size_t stalled_bytes;
    bool is_ending;
};

struct gate *gate_new(struct loop *loop, gate_fn fn, void *ctx)
{
    struct gate *gate = NEW(struct gate);

    *gate = (struct gate){.loop = loop, .fn = fn, .ctx = ctx, .later = later_new(loop)};
    TAILQ_INIT(&gate->stalled);
    return gate;
}

static struct visitor *visitor_new(struct gate *gate, struct rpc *rpc, const char *name, struct slice message)
{
    struct visitor *visitor = NEW(struct visitor);

    *visitor = (struct visitor){.gate = gate,
                                .rpc = rpc,
                                .name = name,
                                .message = mem_dup(message.ptr, message.len),
                                .len = message.len};
    return visitor;
}

static void visitor_free(struct visitor *visitor)
{
    mem_free(visitor->message);
    mem_free(visitor);
}

static size_t cost_of(const struct visitor *visitor)
{
    return sizeof(*visitor) + sizeof(*visitor->rpc) + visitor->len;
}

static void carry_out(struct gate *gate, struct rpc *rpc, struct slice message)
{
    if (gate->is_ending)
        rpc_refuse(rpc, GRPC_UNAVAILABLE, "the controller is ending");
    else
        gate->fn(gate->ctx, rpc, message);
}

static void on_waited(void *ctx)
{
    struct visitor *visitor = ctx;

    carry_out(visitor->gate, visitor->rpc, (struct slice){visitor->message, visitor->len});
    visitor_free(visitor);
}

/* The id of the partition that the call is about, "" when it is about none. Kept in the arena. */
static const char *partition_of(const char *method, struct slice message, struct arena *arena)
{
    static const char *const about_one[] = {"RemovePartition", "ResetPartition", "GetPartitionStatus",
                                            "GetPartitionIpuofConfig"};
    struct wire_partition_request request;
    struct vipu_requirements requirements;
    struct err err;

    if (str_eq(method, "CreatePartition"))
        return wire_get_create(message, arena, &requirements, &err) ? requirements.id : "";
    /* All of them have the id as their first field. */
    for (size_t i = 0; i < COUNT_OF(about_one); i++)
        if (str_eq(method, about_one[i]))
            return wire_get_status_request(message, arena, &request, &err) ? request.partition_id : "";
    return "";
}

static void wait_and_carry_out(struct gate *gate, struct rpc *rpc, const char *name, struct slice message,
                               uint32_t latency_ms)
{
    struct visitor *visitor = visitor_new(gate, rpc, name, message);

    if (later_do(gate->later, latency_ms, cost_of(visitor), on_waited, visitor))
        return;
    visitor_free(visitor);
    rpc_refuse(rpc, GRPC_RESOURCE_EXHAUSTED, "too many calls wait already");
}

static void judge(struct gate *gate, struct rpc *rpc, const char *name, struct slice message)
{
    AUTO(arena) struct arena arena = {.budget = WIRE_REQUEST_BUDGET};
    struct fault_verdict verdict;

    rpc->unknown_refusal = gate->faults.quirks.unknown_status;
    if (gate->faults.call_count == 0) {
        carry_out(gate, rpc, message);
        return;
    }
    verdict = faults_on_call(&gate->faults, name, partition_of(name, message, &arena));
    rpc_judge(rpc, &verdict);
    if (!verdict.takes_effect) {
        rpc->late_ms += verdict.latency_ms;
        rpc_refuse(rpc, (int)verdict.status, verdict.message);
    } else if (verdict.latency_ms > 0) {
        wait_and_carry_out(gate, rpc, name, message, verdict.latency_ms);
    } else {
        carry_out(gate, rpc, message);
    }
}

static void stall(struct gate *gate, struct rpc *rpc, const char *name, struct slice message)
{
    struct visitor *visitor = visitor_new(gate, rpc, name, message);

    if (gate->stalled_bytes + cost_of(visitor) > STALLED_MAX_BYTES) {
        visitor_free(visitor);
        rpc_refuse(rpc, GRPC_RESOURCE_EXHAUSTED, "too many calls wait already");
        return;
    }
    gate->stalled_bytes += cost_of(visitor);
    TAILQ_INSERT_TAIL(&gate->stalled, visitor, entry);
}

void gate_enter(struct gate *gate, struct service_call *call, struct metrics *metrics, size_t method,
                const char *name, struct slice message)
{
    struct rpc *rpc = rpc_new(call, metrics, gate->later, method);

    if (faults_is_stalled(&gate->faults, loop_now_ms(gate->loop)))
        stall(gate, rpc, name, message);
    else
        judge(gate, rpc, name, message);
}

void gate_step(struct gate *gate)
{
    struct visitor *visitor;

    while (!faults_is_stalled(&gate->faults, loop_now_ms(gate->loop)) &&
           (visitor = TAILQ_FIRST(&gate->stalled))) {
        TAILQ_REMOVE(&gate->stalled, visitor, entry);
        gate->stalled_bytes -= cost_of(visitor);
        judge(gate, visitor->rpc, visitor->name, (struct slice){visitor->message, visitor->len});
        visitor_free(visitor);
    }
}

struct faults *gate_set_faults_take(struct gate *gate, struct faults *faults)
{
    faults_release(&gate->faults);
    gate->faults = *faults;
    *faults = (struct faults){0};
    faults_begin(&gate->faults, loop_now_ms(gate->loop));
    return &gate->faults;
}

const struct faults *gate_faults(const struct gate *gate)
{
    return &gate->faults;
}

void gate_free(struct gate *gate)
{
    if (!gate)
        return;
    gate->is_ending = true;
    faults_release(&gate->faults);
    gate_step(gate);
    later_free(gate->later);
    mem_free(gate);
}
