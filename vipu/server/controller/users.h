/* The users of secure mode and the allocations that each may use. Plain data, pure; keys are
 * compared in access_keys.h. Owned contents. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/str.h"
#include "vipu/model/partition.h"

/* Source of a user's access key in the configuration; one is not NULL, none for a user with a certificate. */
struct user_key {
    char *plain;
    char *file;          /* until access_keys_load has read it into plain */
    char *hash;          /* a line that access_key_hash made */
    bool is_certificate; /* a client certificate with the user's id as common name is as good */
};

struct user {
    char *id;
    struct user_key key;
    struct strv allocations;
    const char *partition; /* the user of this partition's own key, who may use nothing else; or NULL */
    unsigned line;         /* in the configuration, for messages */
};

struct users {
    struct user *items;
    size_t count;
};

void users_release(struct users *users);
const struct user *users_find(const struct users *users, const char *id); /* NULL: not found */
/* NULL: secure mode is off, every allocation may be used. */
bool user_may(const struct user *user, const char *allocation_id);
bool user_may_use(const struct user *user, const struct vipu_partition *partition);
