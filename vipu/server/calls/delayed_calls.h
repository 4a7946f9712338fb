/* Calls that vipu-server delays because of injected faults, before it runs them or responds. Each is one
 * function with its context; their total size is limited. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io/loop.h"

#define DELAYED_CALLS_MAX_BYTES ((size_t)128 << 20)

struct delayed_calls;

typedef void (*delayed_call_fn)(void *ctx);

struct delayed_calls *delayed_calls_new(struct loop *loop);
/* Runs everything that is still delayed. Accepts NULL. */
void delayed_calls_free(struct delayed_calls *calls);
/* Runs delay_ms from now, never before this returns; `bytes` is the size of its context. False, with nothing
 * done, if the limit is reached. */
bool delayed_calls_add(struct delayed_calls *calls, int64_t delay_ms, size_t bytes, delayed_call_fn fn,
                       void *ctx);
