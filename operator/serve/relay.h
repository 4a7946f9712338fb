/* Standbys know nothing of jobs: what they are asked about them, they ask the leader, once, and hand its
 * answer on. */
#pragma once

#include "base/io/serve.h"

struct relay;

#define RELAY_MAX 16u /* requests that are handed on at the same time */

MUST_USE struct relay *relay_new(struct loop *loop, struct err *err);
void relay_free(struct relay *relay); /* after the server is freed */
/* The leader at "host:port" is asked the same; `request` is answered in any case. */
void relay_pass(struct relay *relay, struct serve_request *request, const struct serve_view *view,
                const char *leader);
void relay_forget(struct relay *relay, struct serve_request *request); /* it left */
bool relay_has_passed(
    const struct serve_view *view); /* it comes from a standby, which is not to be asked back */
