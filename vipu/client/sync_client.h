/* A blocking client: each call runs the loop until the response has arrived. If the controller cannot be
 * reached, the error has the original's message. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/client/endpoint.h"
#include "vipu/model/agents.h"
#include "vipu/model/ipuof.h"
#include "vipu/model/partition.h"

struct vipu_sync_client;

struct vipu_sync_client *vipu_sync_new(const struct vipu_endpoint *endpoint, const char *user_agent,
                                       uint32_t timeout_s);
void vipu_sync_free(struct vipu_sync_client *session); /* accepts NULL */
const char *vipu_sync_target(const struct vipu_sync_client *session);
const char *vipu_sync_reason(
    const struct vipu_sync_client *session); /* why the controller rejected the last call; else "" */

bool vipu_sync_is_unknown(const struct vipu_sync_client *session); /* whether the last call was carried out */

/* Tries to connect for up to `timeout_ms`, because a controller may just be starting. True if it answered
 * at all. Other calls connect by themselves and fail at once if nothing listens.
 *
 * The session's timeout then holds for this and all that follows together; without it, for each call. */
MUST_USE bool vipu_sync_connect(struct vipu_sync_client *s, int64_t timeout_ms, struct err *err);

MUST_USE bool vipu_sync_version(struct vipu_sync_client *s, char **ret,
                                struct err *err); /* owned by the caller */
MUST_USE bool vipu_sync_partitions(struct vipu_sync_client *s, const char *allocation,
                                   struct vipu_partitions *ret, struct err *err);
MUST_USE bool vipu_sync_agents(struct vipu_sync_client *s, struct vipu_agents *ret, struct err *err);
MUST_USE bool vipu_sync_create(struct vipu_sync_client *s, const struct vipu_requirements *requirements,
                               struct err *err);
MUST_USE bool vipu_sync_remove(struct vipu_sync_client *s, const char *id, bool force, struct err *err);
MUST_USE bool vipu_sync_reset(struct vipu_sync_client *s, const char *id, bool relocatable, struct err *err);
MUST_USE bool vipu_sync_status(struct vipu_sync_client *s, const char *id, struct vipu_status *ret,
                               struct err *err);
MUST_USE bool vipu_sync_ipuof(struct vipu_sync_client *s, const char *id, int64_t gcd,
                              struct vipu_ipuof_config *ret, struct err *err);
/* A call of another service, its messages as bytes; see vipu_read_message. Appends to `ret`. */
MUST_USE bool vipu_sync_read_message(struct vipu_sync_client *s, const char *path, struct slice message,
                                     struct str *ret, struct err *err);

/* Called after each poll of a partition that is waited for; `what` is "CREATING", for example. */
typedef void (*vipu_sync_watch_fn)(void *ctx, const char *id, const char *what, int64_t waited_ms);
void vipu_sync_watch(struct vipu_sync_client *s, vipu_sync_watch_fn fn, void *ctx);

/* Polls until the partition is active (ERR_CONFLICT with its errors if it fails), or is gone. If the
 * controller becomes unavailable meanwhile, it has a few seconds to come back. */
MUST_USE bool vipu_sync_wait_active(struct vipu_sync_client *s, const char *id, struct err *err);
MUST_USE bool vipu_sync_wait_gone(struct vipu_sync_client *s, const char *id, struct err *err);
/* Removes the partition and waits until it is gone; also true if it did not exist. Removal is idempotent, so
 * it is retried for a few seconds while the controller is unavailable. */
MUST_USE bool vipu_sync_remove_and_wait(struct vipu_sync_client *s, const char *id, struct err *err);
