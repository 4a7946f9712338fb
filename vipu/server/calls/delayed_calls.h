/* What vipu-server does later because the faults say so: calls that wait before they are carried out or
 * answered. Each is one function with its context; how much may wait is limited in bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io/loop.h"

#define DELAYED_CALLS_MAX_BYTES ((size_t)128 << 20)

struct delayed_calls;

typedef void (*delayed_call_fn)(void *ctx);

struct delayed_calls *delayed_calls_new(struct loop *loop);
/* Everything that still waits happens now. NULL is fine. */
void delayed_calls_free(struct delayed_calls *calls);
/* delay_ms from now, never before this returns; `bytes` is what its context takes. False, with nothing done,
 * when too much waits already. */
bool delayed_calls_add(struct delayed_calls *calls, int64_t delay_ms, size_t bytes, delayed_call_fn fn,
                       void *ctx);
