/* The messages of this project's extension service (extension.proto): structs to bytes for the server, bytes
 * to owned structs for the client. Pure; the rules are those of requests.h and replies.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/model/inventory.h"
#include "vipu/wire/messages/arena.h"

#define WIRE_EXTENSION "/ipuoperator.vipu.v1.ExtensionService/"
#define WIRE_EXTENSION_BUDGET ((size_t)256 * 1024 * 1024) /* of scratch memory, for a reply */

struct wire_place { /* "" or NULL: not given */
    const char *cluster_id;
    const char *allocation_id;
};

void wire_put_capacity_request(const struct wire_place *place, struct str *out);
MUST_USE bool wire_get_capacity_request(struct slice bytes, struct arena *arena, struct wire_place *ret,
                                        struct err *err);
/* A request without fields. */
MUST_USE bool wire_get_nothing(struct slice bytes, struct arena *arena, struct err *err);

/* These append one element; a list reply is a sequence of them. */
/* For the storage: appends the hash of a partition's access key to the bytes of the partition. */
bool wire_put_key_hash(const char *hash, struct str *out);
/* *ret NULL if there is none, owned by the caller. */
MUST_USE bool wire_get_key_hash(struct slice bytes, char **ret, struct err *err);

bool wire_put_allocation(const struct vipu_allocation_entry *allocation, struct str *out);
bool wire_put_cluster(const struct vipu_cluster_entry *cluster, struct str *out);
bool wire_put_capacity(const struct vipu_capacity *capacity, struct str *out);

MUST_USE bool wire_get_allocations(struct slice bytes, size_t budget, struct vipu_allocation_list *ret,
                                   struct err *err);
MUST_USE bool wire_get_clusters(struct slice bytes, size_t budget, struct vipu_cluster_list *ret,
                                struct err *err);
MUST_USE bool wire_get_capacity(struct slice bytes, size_t budget, struct vipu_capacity *ret,
                                struct err *err);
