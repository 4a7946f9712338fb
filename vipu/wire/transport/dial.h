/* Getting a TCP connection to a name: look it up, try its addresses one after the other, until one connects.
 * Answers from the loop. Its owner may find that the peer there is of no use, and go on with the next. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/io/loop.h"

#define DIAL_ADDRESS_MS 3000 /* how long one address may take */

struct dial;

/* fd is the receiver's; -1 with err when no address is left. The dial stays until it is freed, here perhaps.
 */
typedef void (*dial_fn)(void *ctx, int fd, const struct err *err);

struct dial *dial_start(struct loop *loop, const char *host, uint32_t port, unsigned idle_timeout_ms,
                        dial_fn fn, void *ctx);
bool dial_has_next(const struct dial *dial); /* after an answer: there are addresses that were not tried */
/* Answers again. `why` is what is wrong with the last one, and is told when the others are not better. */
void dial_next(struct dial *dial, const struct err *why);
void dial_free(struct dial *dial); /* NULL is fine; no answer comes any more */
