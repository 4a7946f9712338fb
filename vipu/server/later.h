/* What vipu-server does later because the faults say so: calls that wait before they are carried out or
 * answered. Each is one function with its context; how much may wait is limited in bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io/loop.h"

#define LATER_MAX_BYTES ((size_t)128 << 20)

struct later;

typedef void (*later_fn)(void *ctx);

struct later *later_new(struct loop *loop);
/* Everything that still waits happens now. NULL is fine. */
void later_free(struct later *later);
/* delay_ms from now, never before this returns; `bytes` is what its context takes. False, with nothing done,
 * when too much waits already. */
bool later_do(struct later *later, int64_t delay_ms, size_t bytes, later_fn fn, void *ctx);
