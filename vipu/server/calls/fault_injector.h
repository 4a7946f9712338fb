/* Entry point of calls: applies the faults to each call (delay, rejection, dropped connection) and then runs
 * it. Owns the active faults. */
#pragma once

#include "base/core/str.h"
#include "base/io/loop.h"
#include "vipu/server/calls/metrics.h"
#include "vipu/server/calls/rpc.h"
#include "vipu/server/controller/faults.h"

struct fault_injector;

/* Runs the call and responds. The message is borrowed for the call. */
typedef void (*fault_injector_fn)(void *ctx, struct rpc *rpc, struct slice message);

struct fault_injector *fault_injector_new(struct loop *loop, fault_injector_fn fn, void *ctx);
/* Rejects the calls that are still stalled, and sends delayed responses now. Accepts NULL. */
void fault_injector_free(struct fault_injector *injector);

/* `name` is the method's name, without its service. */
void fault_injector_handle(struct fault_injector *injector, struct grpc_server_call *call,
                           struct metrics *metrics, size_t method, const char *name, struct slice message);
/* Runs the calls that a stall delayed, once it has ended. */
void fault_injector_step(struct fault_injector *injector);
/* Delayed calls whose time comes while it is paused run afterwards. Others do not come meanwhile. */
void fault_injector_set_paused(struct fault_injector *injector, bool is_paused);

/* Activates the faults; the struct is emptied. Borrowed results are valid until the next call. */
struct faults *fault_injector_set_faults_take(struct fault_injector *injector, struct faults *faults);
const struct faults *fault_injector_faults(const struct fault_injector *injector);
