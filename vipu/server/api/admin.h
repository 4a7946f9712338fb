/* vipu-server's HTTP endpoint for admins and monitoring: exact paths, each with one handler. Off unless an
 * address is configured. It has neither authentication nor TLS, so it belongs on the loopback or a
 * management network. All paths are added before it listens. */
#pragma once

#include "base/core/err.h"
#include "base/io/loop.h"
#include "base/http/http_server.h"

struct admin;

struct admin *admin_new(void);
/* What the route points to must outlive the admin endpoint. Its handler responds with http_server_reply
 * before it returns. */
void admin_add(struct admin *admin, const struct http_server_route *route);
/* "HOST:PORT", ":PORT" or "[::1]:PORT"; HOST is an address or localhost, and port 0 lets the system choose.
 */
MUST_USE bool admin_listen(struct admin *admin, struct loop *loop, const char *address, struct err *err);
uint16_t admin_port(const struct admin *admin);
void admin_free(struct admin *admin); /* not from inside a callback of the loop; accepts NULL */
