/* A client of one V-IPU controller: gRPC over one HTTP/2 connection, in cleartext or with TLS, shared by
 * many calls. It connects when there is something to send, resolves the name for each connection, and backs
 * off after failures. An endpoint that cannot be used (a bad CA file or user id) fails each call, unsent.
 *
 * It never retries (only the caller knows what is safe), never blocks, and does not trust the peer: sizes,
 * headers and calls in flight are limited, and malformed replies are errors. Every call has a deadline. Its
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
    const char *user_agent;      /* NULL: the project's name and version */
    uint32_t max_in_flight;      /* 0: VIPU_CLIENT_MAX_IN_FLIGHT; one more fails with ERR_BUSY, unsent */
    /* For create, remove and reset, called right before the bytes of the request are handed to the socket;
     * false fails the call with ERR_DENIED, unsent. NULL: always allowed. */
    bool (*may_send)(void *ctx);
    void *may_send_ctx;
};

/* How a call ended. err.kind ERR_NONE: success. With `sent` false no byte of the request left this process,
 * so the controller did nothing, whatever the kind. With `sent` true: INVALID, NOT_FOUND, EXISTS, CONFLICT
 * (wrong state), BUSY (not enough free IPUs), DENIED: the controller rejected the call; TIMEOUT, IO,
 * INTERNAL: whether the call took effect is unknown. err.code is the gRPC status (the one the peer sent, or
 * 4 and 14 for the client's own deadline and connection failures). */
struct vipu_result {
    struct err err;
    bool sent;
    int64_t took_us;    /* since the call was made */
    const char *reason; /* the controller's message, complete (err.msg may be truncated); borrowed, "" when
                           there is none */
};

bool vipu_result_is_unknown(const struct vipu_result *result); /* sent, and its effect is unknown */

typedef void (*vipu_done_fn)(void *ctx, const struct vipu_result *result);
typedef void (*vipu_text_fn)(void *ctx, const struct vipu_result *result, const char *text);
typedef void (*vipu_partitions_fn)(void *ctx, const struct vipu_result *result, struct vipu_partitions *list);
typedef void (*vipu_agents_fn)(void *ctx, const struct vipu_result *result, struct vipu_agents *agents);
typedef void (*vipu_count_fn)(void *ctx, const struct vipu_result *result, uint32_t count);
typedef void (*vipu_status_fn)(void *ctx, const struct vipu_result *result, struct vipu_status *status);
typedef void (*vipu_ipuof_fn)(void *ctx, const struct vipu_result *result, struct vipu_ipuof_config *config);
typedef void (*vipu_message_fn)(void *ctx, const struct vipu_result *result, struct slice message);

struct vipu_client *vipu_client_new(struct loop *loop, const struct vipu_client_options *options);
void vipu_client_free(struct vipu_client *client); /* no callback runs afterwards; accepts NULL */

/* Resets the connection at once (TCP RST), so that nothing still buffered arrives later. Every call in flight
 * fails with ERR_IO in the next turn, `sent` as it was. The client stays usable. */
void vipu_client_abort(struct vipu_client *client);

/* Changes the user, the key and the TLS settings; the endpoint's host and port are ignored. Later calls use
 * the new user and key, later connections the new CA file. */
void vipu_client_set_credentials(struct vipu_client *client, const struct vipu_endpoint *endpoint);
/* Every call fails with this error, unsent, until credentials are set again. */
void vipu_client_reject_calls(struct vipu_client *client, const struct err *why);

const char *vipu_client_target(const struct vipu_client *client); /* "host:port", for messages */

/* Calls. deadline_ms 0 is the client's default; it includes the time to connect. The handle is valid until
 * the callback starts or the call is cancelled. The outputs are zeroed structs (text: "") when the call
 * failed. */
struct vipu_call *vipu_get_version(struct vipu_client *client, int64_t deadline_ms, vipu_text_fn done,
                                   void *ctx);
/* allocation_id NULL or "": every partition that the user may see. Replies of up to 64 MiB are accepted.
 * While the callback runs, memory is at most twice the reply plus 320 bytes per partition and 16 per IPU:
 * less than 80 MiB for 100,000 partitions of 16 IPUs. */
struct vipu_call *vipu_list_partitions(struct vipu_client *client, const char *allocation_id,
                                       int64_t deadline_ms, vipu_partitions_fn done, void *ctx);
/* At most 64 MiB as well, in memory of twice the reply plus 96 bytes per attribute. */
struct vipu_call *vipu_list_ipu_attributes(struct vipu_client *client, int64_t deadline_ms,
                                           vipu_agents_fn done, void *ctx);
/* How many IPUs the user may see: the same request, but the reply is only counted, without further memory. */
struct vipu_call *vipu_count_ipus(struct vipu_client *client, int64_t deadline_ms, vipu_count_fn done,
                                  void *ctx);
/* The text is the id of the partition that is being created: poll its status until it is active. */
struct vipu_call *vipu_create_partition(struct vipu_client *client,
                                        const struct vipu_requirements *requirements, int64_t deadline_ms,
                                        vipu_text_fn done, void *ctx);
struct vipu_call *vipu_remove_partition(struct vipu_client *client, const char *id, bool force,
                                        int64_t deadline_ms, vipu_done_fn done, void *ctx);
/* access_key: replaces the key of the partition's own user; NULL: it stays. */
struct vipu_call *vipu_reset_partition(struct vipu_client *client, const char *id, bool relocatable,
                                       const char *access_key, int64_t deadline_ms, vipu_done_fn done,
                                       void *ctx);
struct vipu_call *vipu_get_partition_status(struct vipu_client *client, const char *id, int64_t deadline_ms,
                                            vipu_status_fn done, void *ctx);
/* gcd -1: all of them. */
struct vipu_call *vipu_get_ipuof_config(struct vipu_client *client, const char *id, int64_t gcd,
                                        int64_t deadline_ms, vipu_ipuof_fn done, void *ctx);
/* A call of another service, for vipu/client/extension.h: "/package.Service/Method" (must outlive the call),
 * and the messages as bytes. Only for calls that change nothing: it is not gated. */
struct vipu_call *vipu_read_message(struct vipu_client *client, const char *path, struct slice message,
                                    int64_t deadline_ms, vipu_message_fn done, void *ctx);

void vipu_call_cancel(struct vipu_call *call); /* its callback will not run; accepts NULL */
