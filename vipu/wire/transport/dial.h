/* Connects TCP to a name: resolves it and tries its addresses one after the other until one connects. Calls
 * back from the loop. If the owner finds that the peer cannot be used, it can continue with the next
 * address. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/io/loop.h"

#define DIAL_ADDRESS_MS 3000 /* how long to try one address */

struct dial;

/* The receiver owns fd; -1 with err if no address is left. The dial stays until it is freed, possibly here.
 */
typedef void (*dial_fn)(void *ctx, int fd, const struct err *err);

struct dial *dial_start(struct loop *loop, const char *host, uint32_t port, unsigned idle_timeout_ms,
                        dial_fn fn, void *ctx);
bool dial_has_next(const struct dial *dial); /* after a result: there are addresses left */
/* Calls back again. `why` is the problem of the last address, and is reported if the others are not better.
 */
void dial_next(struct dial *dial, const struct err *why);
void dial_free(struct dial *dial); /* accepts NULL; no callback runs afterwards */
