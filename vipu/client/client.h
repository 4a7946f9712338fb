/* A client of one V-IPU controller: gRPC over one HTTP/2 connection, in the clear or with TLS, that many
 * calls share. It connects by itself when there is something to send, resolves the name anew each time, and
 * backs off after failures. An endpoint that cannot be used (a CA file, a user id) fails each call, unsent.
 *
 * It refuses to retry (the caller knows what is safe), to block, and to believe a peer: sizes, headers and
 * the number of calls in flight are capped and nonsense is an error. Every call has a deadline, and its
 * callback runs exactly once, from the loop, never from inside the function that made the call; a call that
 * is cancelled, or whose client is freed, gets none.
 *
 * Ownership: requests are copied before the function returns. What a callback receives is borrowed for its
 * duration; it may keep a struct by copying it and zeroing the original. A callback may cancel other calls
 * and free the client. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "base/io/loop.h"
#include "vipu/client/endpoint.h"
#include "vipu/model/agents.h"
#include "vipu/model/ipuof.h"
#include "vipu/model/partition.h"

#define VIPU_CLIENT_DEADLINE_MS 4000
#define VIPU_CLIENT_MAX_IN_FLIGHT 1000u

struct vipu_client;
struct vipu_call;

struct vipu_client_options {
    struct vipu_endpoint endpoint;
    int64_t default_deadline_ms; /* 0: VIPU_CLIENT_DEADLINE_MS */
    const char *user_agent;      /* NULL: our name and version */
    uint32_t max_in_flight;      /* 0: VIPU_CLIENT_MAX_IN_FLIGHT; one more fails with ERR_BUSY, unsent */
    /* Asked for create, remove and reset right before the bytes of the request are handed to the socket;
     * false makes the call fail with ERR_DENIED, unsent. NULL: always. */
    bool (*may_send)(void *ctx);
    void *may_send_ctx;
};

/* How a call ended. err.kind ERR_NONE: done. With `sent` false no byte of the request left this process and
 * nothing happened at the controller, whatever the kind. With `sent` true: INVALID, NOT_FOUND, EXISTS,
 * CONFLICT (wrong state), BUSY (no room), DENIED: the controller refused; TIMEOUT, IO, INTERNAL: whether the
 * call took effect is unknown. err.code is the gRPC status (the one the peer sent, or 4 and 14 for our own
 * deadline and connection failures). */
struct vipu_result {
    struct err err;
    bool sent;
    int64_t took_us;    /* since the call was made */
    const char *reason; /* the controller's own words, whole (err.msg may cut them); borrowed, "" when none */
};

bool vipu_result_is_unknown(const struct vipu_result *result); /* sent, and nobody knows what it did */

typedef void (*vipu_done_fn)(void *ctx, const struct vipu_result *result);
typedef void (*vipu_text_fn)(void *ctx, const struct vipu_result *result, const char *text);
typedef void (*vipu_partitions_fn)(void *ctx, const struct vipu_result *result, struct vipu_partitions *list);
typedef void (*vipu_agents_fn)(void *ctx, const struct vipu_result *result, struct vipu_agents *agents);
typedef void (*vipu_count_fn)(void *ctx, const struct vipu_result *result, uint32_t count);
typedef void (*vipu_status_fn)(void *ctx, const struct vipu_result *result, struct vipu_status *status);
typedef void (*vipu_ipuof_fn)(void *ctx, const struct vipu_result *result, struct vipu_ipuof_config *config);
typedef void (*vipu_message_fn)(void *ctx, const struct vipu_result *result, struct slice message);

struct vipu_client *vipu_client_new(struct loop *loop, const struct vipu_client_options *options);
void vipu_client_free(struct vipu_client *client); /* no callback runs afterwards; NULL is fine */

/* Resets the connection at once (TCP RST), so that nothing still buffered arrives later. Every call in flight
 * fails with ERR_IO in the next turn, `sent` as it was. The client stays usable. */
void vipu_client_abort(struct vipu_client *client);

/* Who asks, and how the controller is known, when that changes; the endpoint's host and port are not looked
 * at. Calls are made with it from now on, connections with its CA file. */
void vipu_client_set_credentials(struct vipu_client *client, const struct vipu_endpoint *endpoint);
/* Every call fails with this, unsent, until there is access again. */
void vipu_client_reject_calls(struct vipu_client *client, const struct err *why);

const char *vipu_client_target(const struct vipu_client *client); /* "host:port", for messages */

/* Calls. deadline_ms 0 is the client's default; connecting counts. The handle is good until the callback
 * begins or the call is cancelled. The outputs are zeroed structs (text: "") when the call failed. */
struct vipu_call *vipu_get_version(struct vipu_client *client, int64_t deadline_ms, vipu_text_fn done,
                                   void *ctx);
/* allocation_id NULL or "": every partition the user may see. A reply of at most 64 MiB is taken. While the
 * callback runs there are at most twice its bytes, 320 bytes a partition and 16 an IPU: less than 80 MiB for
 * 100,000 partitions of 16 IPUs. */
struct vipu_call *vipu_list_partitions(struct vipu_client *client, const char *allocation_id,
                                       int64_t deadline_ms, vipu_partitions_fn done, void *ctx);
/* At most 64 MiB as well, in twice the reply's bytes and 96 bytes an attribute. */
struct vipu_call *vipu_list_ipu_attributes(struct vipu_client *client, int64_t deadline_ms,
                                           vipu_agents_fn done, void *ctx);
/* How many IPUs the user may see: the same request, its reply counted as it stands, in no further memory. */
struct vipu_call *vipu_count_ipus(struct vipu_client *client, int64_t deadline_ms, vipu_count_fn done,
                                  void *ctx);
/* The text is the id of the partition that is being made: poll its status until it is active. */
struct vipu_call *vipu_create_partition(struct vipu_client *client,
                                        const struct vipu_requirements *requirements, int64_t deadline_ms,
                                        vipu_text_fn done, void *ctx);
struct vipu_call *vipu_remove_partition(struct vipu_client *client, const char *id, bool force,
                                        int64_t deadline_ms, vipu_done_fn done, void *ctx);
struct vipu_call *vipu_reset_partition(struct vipu_client *client, const char *id, bool relocatable,
                                       int64_t deadline_ms, vipu_done_fn done, void *ctx);
struct vipu_call *vipu_get_partition_status(struct vipu_client *client, const char *id, int64_t deadline_ms,
                                            vipu_status_fn done, void *ctx);
/* gcd -1: all of them. */
struct vipu_call *vipu_get_ipuof_config(struct vipu_client *client, const char *id, int64_t gcd,
                                        int64_t deadline_ms, vipu_ipuof_fn done, void *ctx);
/* A call of another service, for vipu/client/extension.h: "/package.Service/Method" (it outlives the call),
 * and the messages as bytes. Only for calls that change nothing: it is not gated. */
struct vipu_call *vipu_read_message(struct vipu_client *client, const char *path, struct slice message,
                                    int64_t deadline_ms, vipu_message_fn done, void *ctx);

void vipu_call_cancel(struct vipu_call *call); /* its callback will not run; NULL is fine */
