#include "vipu/server/calls/fault_injector.h"

#include <sys/queue.h>

#include "base/core/mem.h"
#include "vipu/server/calls/delayed_calls.h"
#include "vipu/wire/grpc/grpc.h"
#include "vipu/wire/messages/requests.h"

#define STALLED_MAX_BYTES ((size_t)128 << 20)

/* A call that has not run yet. */
struct delayed_call {
    TAILQ_ENTRY(delayed_call) entry;
    struct fault_injector *injector;
    struct rpc *rpc;
    const char *name; /* of the method; static */
    char *message;
    size_t len;
};

TAILQ_HEAD(delayed_call_list, delayed_call);

struct fault_injector {
    struct loop *loop;
    fault_injector_fn fn;
    void *ctx;
    struct faults faults;
    struct delayed_calls *delayed;
    struct delayed_call_list stalled;
    struct delayed_call_list held; /* until it is no longer paused */
    size_t stalled_bytes;
    bool is_paused;
    bool is_ending;
};

struct fault_injector *fault_injector_new(struct loop *loop, fault_injector_fn fn, void *ctx)
{
    struct fault_injector *injector = NEW(struct fault_injector);

    *injector =
        (struct fault_injector){.loop = loop, .fn = fn, .ctx = ctx, .delayed = delayed_calls_new(loop)};
    TAILQ_INIT(&injector->stalled);
    TAILQ_INIT(&injector->held);
    return injector;
}

static struct delayed_call *delayed_call_new(struct fault_injector *injector, struct rpc *rpc,
                                             const char *name, struct slice message)
{
    struct delayed_call *delayed_call = NEW(struct delayed_call);

    *delayed_call = (struct delayed_call){.injector = injector,
                                          .rpc = rpc,
                                          .name = name,
                                          .message = mem_dup(message.ptr, message.len),
                                          .len = message.len};
    return delayed_call;
}

static void delayed_call_free(struct delayed_call *delayed_call)
{
    mem_free(delayed_call->message);
    mem_free(delayed_call);
}

static size_t cost_of(const struct delayed_call *delayed_call)
{
    return sizeof(*delayed_call) + sizeof(*delayed_call->rpc) + delayed_call->len;
}

/* Of its caller's deadline, after which nobody waits for it any more. */
static int64_t time_left_ms(const struct fault_injector *injector, const struct rpc *rpc)
{
    return grpc_server_call_deadline_ms(rpc->call) - loop_now_ms(injector->loop);
}

static void carry_out(struct fault_injector *injector, struct rpc *rpc, struct slice message)
{
    if (injector->is_ending)
        rpc_reject(rpc, GRPC_UNAVAILABLE, "the controller is shutting down");
    else if (time_left_ms(injector, rpc) <= 0)
        rpc_reject(rpc, GRPC_DEADLINE_EXCEEDED, "the call's deadline passed before it was carried out");
    else
        injector->fn(injector->ctx, rpc, message);
}

static void carry_out_delayed(struct delayed_call *delayed_call)
{
    carry_out(delayed_call->injector, delayed_call->rpc,
              (struct slice){delayed_call->message, delayed_call->len});
    delayed_call_free(delayed_call);
}

static void on_waited(void *ctx)
{
    struct delayed_call *delayed_call = ctx;

    if (delayed_call->injector->is_paused)
        TAILQ_INSERT_TAIL(&delayed_call->injector->held, delayed_call, entry);
    else
        carry_out_delayed(delayed_call);
}

void fault_injector_set_paused(struct fault_injector *injector, bool is_paused)
{
    struct delayed_call *delayed_call;

    injector->is_paused = is_paused;
    while (!injector->is_paused && (delayed_call = TAILQ_FIRST(&injector->held))) {
        TAILQ_REMOVE(&injector->held, delayed_call, entry);
        carry_out_delayed(delayed_call);
    }
    if (!injector->is_paused)
        fault_injector_step(injector);
}

/* The id of the call's partition, "" if it has none. Allocated in the arena. */
static const char *partition_of(const char *method, struct slice message, struct arena *arena)
{
    static const char *const about_one[] = {"RemovePartition", "ResetPartition", "GetPartitionStatus",
                                            "GetPartitionIpuofConfig"};
    struct wire_partition_request request;
    struct vipu_requirements requirements;
    struct err err;

    if (str_eq(method, "CreatePartition"))
        return wire_get_create(message, arena, &requirements, &err) ? requirements.id : "";
    /* All of these methods have the id as their first field. */
    for (size_t i = 0; i < COUNT_OF(about_one); i++)
        if (str_eq(method, about_one[i]))
            return wire_get_status_request(message, arena, &request, &err) ? request.partition_id : "";
    return "";
}

static void wait_and_carry_out(struct fault_injector *injector, struct rpc *rpc, const char *name,
                               struct slice message, uint32_t latency_ms)
{
    struct delayed_call *delayed_call = delayed_call_new(injector, rpc, name, message);
    int64_t left_ms = time_left_ms(injector, rpc);

    if (delayed_calls_add(injector->delayed, left_ms < latency_ms ? left_ms : latency_ms,
                          cost_of(delayed_call), on_waited, delayed_call))
        return;
    delayed_call_free(delayed_call);
    rpc_reject(rpc, GRPC_RESOURCE_EXHAUSTED, "too many delayed calls");
}

static void judge(struct fault_injector *injector, struct rpc *rpc, const char *name, struct slice message)
{
    AUTO(arena) struct arena arena = {.budget = WIRE_REQUEST_BUDGET};
    struct fault_verdict verdict;

    rpc->unknown_rejection = injector->faults.quirks.unknown_status;
    if (injector->faults.call_count == 0) {
        carry_out(injector, rpc, message);
        return;
    }
    verdict = faults_on_call(&injector->faults, name, partition_of(name, message, &arena));
    rpc_apply_faults(rpc, &verdict);
    if (!verdict.takes_effect) {
        rpc->late_ms += verdict.latency_ms;
        rpc_reject(rpc, (int)verdict.status, verdict.message);
    } else if (verdict.latency_ms > 0) {
        wait_and_carry_out(injector, rpc, name, message, verdict.latency_ms);
    } else {
        carry_out(injector, rpc, message);
    }
}

static void stall(struct fault_injector *injector, struct rpc *rpc, const char *name, struct slice message)
{
    struct delayed_call *delayed_call = delayed_call_new(injector, rpc, name, message);

    if (injector->stalled_bytes + cost_of(delayed_call) > STALLED_MAX_BYTES) {
        delayed_call_free(delayed_call);
        rpc_reject(rpc, GRPC_RESOURCE_EXHAUSTED, "too many delayed calls");
        return;
    }
    injector->stalled_bytes += cost_of(delayed_call);
    TAILQ_INSERT_TAIL(&injector->stalled, delayed_call, entry);
}

void fault_injector_handle(struct fault_injector *injector, struct grpc_server_call *call,
                           struct metrics *metrics, size_t method, const char *name, struct slice message)
{
    struct rpc *rpc = rpc_new(call, metrics, injector->delayed, method);

    if (faults_is_stalled(&injector->faults, loop_now_ms(injector->loop)))
        stall(injector, rpc, name, message);
    else
        judge(injector, rpc, name, message);
}

void fault_injector_step(struct fault_injector *injector)
{
    struct delayed_call *delayed_call;

    while (!injector->is_paused && !faults_is_stalled(&injector->faults, loop_now_ms(injector->loop)) &&
           (delayed_call = TAILQ_FIRST(&injector->stalled))) {
        TAILQ_REMOVE(&injector->stalled, delayed_call, entry);
        injector->stalled_bytes -= cost_of(delayed_call);
        judge(injector, delayed_call->rpc, delayed_call->name,
              (struct slice){delayed_call->message, delayed_call->len});
        delayed_call_free(delayed_call);
    }
}

struct faults *fault_injector_set_faults_take(struct fault_injector *injector, struct faults *faults)
{
    faults_release(&injector->faults);
    injector->faults = *faults;
    *faults = (struct faults){0};
    faults_begin(&injector->faults, loop_now_ms(injector->loop));
    return &injector->faults;
}

const struct faults *fault_injector_faults(const struct fault_injector *injector)
{
    return &injector->faults;
}

void fault_injector_free(struct fault_injector *injector)
{
    if (!injector)
        return;
    injector->is_ending = true;
    faults_release(&injector->faults);
    fault_injector_step(injector);
    delayed_calls_free(injector->delayed);
    mem_free(injector);
}
