/* A client for a program that does one thing after the other: each call runs the loop until its answer is
 * there. A controller that cannot be reached gives the sentence that users of V-IPU know. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/client/endpoint.h"
#include "vipu/model/agents.h"
#include "vipu/model/ipuof.h"
#include "vipu/model/partition.h"

struct session;

struct session *session_new(const struct vipu_endpoint *endpoint, const char *user_agent, uint32_t timeout_s);
void session_free(struct session *session); /* NULL is fine */
const char *session_target(const struct session *session);
const char *
session_reason(const struct session *session); /* why the controller refused the last call; "" else */

bool session_is_unknown(const struct session *session); /* whether the last call was carried out */

/* Tries to connect for `patience_ms`, as a controller may just be starting. True when it answered anything.
 * Other calls connect by themselves, and fail at once when nobody listens. */
MUST_USE bool session_connect(struct session *s, int64_t patience_ms, struct err *err);

MUST_USE bool session_version(struct session *s, char **ret, struct err *err); /* yours */
MUST_USE bool session_partitions(struct session *s, const char *allocation, struct vipu_partitions *ret,
                                 struct err *err);
MUST_USE bool session_agents(struct session *s, struct vipu_agents *ret, struct err *err);
MUST_USE bool session_create(struct session *s, const struct vipu_requirements *requirements,
                             struct err *err);
MUST_USE bool session_remove(struct session *s, const char *id, bool force, struct err *err);
MUST_USE bool session_reset(struct session *s, const char *id, bool relocatable, struct err *err);
MUST_USE bool session_status(struct session *s, const char *id, struct vipu_status *ret, struct err *err);
MUST_USE bool session_ipuof(struct session *s, const char *id, int64_t gcd, struct vipu_ipuof_config *ret,
                            struct err *err);
/* A call of another service, its messages as bytes; see vipu_read_message. Appends to `ret`. */
MUST_USE bool session_read_message(struct session *s, const char *path, struct slice message, struct str *ret,
                                   struct err *err);

/* Told of each look at a partition that is waited for; `what` is "CREATING", for example. */
typedef void (*session_watch_fn)(void *ctx, const char *id, const char *what, int64_t waited_ms);
void session_watch(struct session *s, session_watch_fn fn, void *ctx);

/* Polls until the partition is active (ERR_CONFLICT with its errors when it fails), or is gone. A controller
 * that goes away meanwhile is given some seconds to come back. */
MUST_USE bool session_wait_active(struct session *s, const char *id, struct err *err);
MUST_USE bool session_wait_gone(struct session *s, const char *id, struct err *err);
/* Removes it and waits until it is gone; true also when it was not there. Removing twice does no harm, so a
 * controller that is away is asked again for some seconds. */
MUST_USE bool session_remove_whole(struct session *s, const char *id, struct err *err);
