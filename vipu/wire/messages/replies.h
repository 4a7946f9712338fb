/* The replies of the user API: structs to bytes for the server, bytes to owned structs for the client. Pure.
 *
 * Encoders append to `out`, whose limit they obey, and return false if it is full. Decoders ignore unknown
 * fields, clean strings as requests.h says, and fail with ERR_IO if the bytes are not such a message or
 * decoding needs more than `budget` bytes of scratch memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/model/agents.h"
#include "vipu/model/ipuof.h"
#include "vipu/model/partition.h"
#include "vipu/wire/messages/partitions.h"

#define WIRE_REPLY_BUDGET ((size_t)512 * 1024 * 1024)

bool wire_put_version(const char *version, struct str *out);
bool wire_put_partition_id(const char *id, struct str *out);
bool wire_put_status(const struct vipu_status *status, struct str *out);
bool wire_put_ipuof(const struct vipu_ipuof_config *config, struct str *out);
/* Appends one element; a list reply is a sequence of them. */
bool wire_put_agent(const struct vipu_agent *agent, struct str *out);

/* The caller frees the strings. */
MUST_USE bool wire_get_version(struct slice bytes, char **ret, struct err *err);
MUST_USE bool wire_get_partition_id(struct slice bytes, char **ret, struct err *err);
MUST_USE bool wire_get_status(struct slice bytes, struct vipu_status *ret, struct err *err);
MUST_USE bool wire_get_ipuof(struct slice bytes, struct vipu_ipuof_config *ret, struct err *err);
MUST_USE bool wire_get_agents(struct slice bytes, size_t budget, struct vipu_agents *ret, struct err *err);
/* How many IPUs such a list contains, without building it. */
MUST_USE bool wire_count_ipus(struct slice bytes, uint32_t *ret, struct err *err);
MUST_USE bool wire_get_empty(struct slice bytes, struct err *err); /* remove and reset */
