/* One name resolution off the loop's thread. The result comes from the loop; a cancelled one never calls
 * back. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/core/err.h"
#include "base/io/loop.h"

#define RESOLVE_MAX 16u /* at most this many addresses are kept */

struct resolve;

struct resolve_address {
    struct sockaddr_storage address;
    socklen_t len;
};

/* count 0 with err, or 1..RESOLVE_MAX addresses, borrowed for the call. */
typedef void (*resolve_fn)(void *ctx, const struct resolve_address *addresses, size_t count,
                           const struct err *err);

/* NULL if the name is invalid (too long, bad encoding). */
struct resolve *resolve_start(struct loop *loop, const char *host, uint32_t port, resolve_fn fn, void *ctx);
void resolve_cancel(struct resolve *resolve); /* accepts NULL */
