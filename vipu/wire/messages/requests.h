/* The requests of the user API: structs to bytes for the client, bytes to structs for the server. Pure.
 *
 * Encoders append to `out`, whose limit they obey (`full`). Decoders allocate their result in the arena:
 * strings are never NULL, have no control characters (each becomes '?'), and live as long as the arena. They
 * ignore unknown fields; ERR_INVALID means that the bytes are not such a message, have a text that is not
 * valid UTF-8 or contains NUL, or need more than the budget. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/model/partition.h"
#include "vipu/wire/messages/arena.h"

#define WIRE_REQUEST_BUDGET ((size_t)64 * 1024 * 1024)

struct wire_partition_request { /* reset: relocatable; remove: force; status: neither */
    const char *partition_id;
    bool flag;
    const char *access_key; /* reset: replaces the partition's key; "" otherwise */
};

struct wire_names {
    char **items;
    size_t count;
};

struct wire_ipuof_request {
    const char *partition_id;
    bool has_gcd;
    uint32_t gcd;
};

void wire_put_list(const char *allocation_id, struct str *out);
void wire_put_create(const struct vipu_requirements *requirements, struct str *out);
void wire_put_remove(const char *id, bool force, struct str *out);
/* access_key NULL: the partition keeps its own, if it has one. */
void wire_put_reset(const char *id, bool relocatable, const char *access_key, struct str *out);
void wire_put_status_request(const char *id, struct str *out);
void wire_put_ipuof_request(const struct wire_ipuof_request *request, struct str *out);

MUST_USE bool wire_get_version_request(struct slice bytes, struct arena *arena, struct err *err);
MUST_USE bool wire_get_list(struct slice bytes, struct arena *arena, const char **ret_allocation_id,
                            struct err *err);
MUST_USE bool wire_get_attributes_request(struct slice bytes, struct arena *arena, struct wire_names *ret,
                                          struct err *err);
MUST_USE bool wire_get_create(struct slice bytes, struct arena *arena, struct vipu_requirements *ret,
                              struct err *err);
MUST_USE bool wire_get_remove(struct slice bytes, struct arena *arena, struct wire_partition_request *ret,
                              struct err *err);
MUST_USE bool wire_get_reset(struct slice bytes, struct arena *arena, struct wire_partition_request *ret,
                             struct err *err);
MUST_USE bool wire_get_status_request(struct slice bytes, struct arena *arena,
                                      struct wire_partition_request *ret, struct err *err);
MUST_USE bool wire_get_ipuof_request(struct slice bytes, struct arena *arena, struct wire_ipuof_request *ret,
                                     struct err *err);
