/* Getting a TCP connection to a name: look it up, try its addresses one after the other. Answers once, from
 * the loop. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "base/io/loop.h"

#define DIAL_ADDRESS_MS 3000 /* how long one address may take */

struct dial;

/* fd is the receiver's; -1 with err. */
typedef void (*dial_fn)(void *ctx, int fd, const struct err *err);

struct dial *dial_start(struct loop *loop, const char *host, uint32_t port, unsigned silence_ms, dial_fn fn,
                        void *ctx);
void dial_cancel(struct dial *dial); /* NULL is fine; not from inside the callback */
