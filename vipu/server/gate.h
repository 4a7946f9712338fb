/* Where calls come in: the faults decide whether a call waits before it is carried out, is not carried out at
 * all, and what becomes of its answer. Owns the faults that are in force. */
#pragma once

#include "base/core/str.h"
#include "base/io/loop.h"
#include "vipu/server/faults.h"
#include "vipu/server/metrics.h"
#include "vipu/server/rpc.h"

struct gate;

/* Answers the call. The message is borrowed for the call. */
typedef void (*gate_fn)(void *ctx, struct rpc *rpc, struct slice message);

struct gate *gate_new(struct loop *loop, gate_fn fn, void *ctx);
/* Calls that were not carried out are refused, answers that wait go out now. NULL is fine. */
void gate_free(struct gate *gate);

/* `name` is the method's, without its service. */
void gate_enter(struct gate *gate, struct service_call *call, struct metrics *metrics, size_t method,
                const char *name, struct slice message);
/* Carries out what a stall held up, when it is over. */
void gate_step(struct gate *gate);

/* They come into force; the struct is emptied. Borrowed results change with the next time. */
struct faults *gate_set_faults_take(struct gate *gate, struct faults *faults);
const struct faults *gate_faults(const struct gate *gate);
