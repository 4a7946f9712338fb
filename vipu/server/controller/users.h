/* The users of secure mode and the allocations that each may use. Plain data, pure; keys are
 * compared in access_keys.h. Owned contents. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/str.h"

/* Source of a user's access key in the configuration; exactly one is not NULL. */
struct user_key {
    char *plain;
    char *file; /* until access_keys_load has read it into plain */
    char *hash; /* a line that access_key_hash made */
};

struct user {
    char *id;
    struct user_key key;
    struct strv allocations;
    unsigned line; /* in the configuration, for messages */
};

struct users {
    struct user *items;
    size_t count;
};

void users_release(struct users *users);
const struct user *users_find(const struct users *users, const char *id); /* NULL: not found */
/* NULL: secure mode is off, every allocation may be used. */
bool user_may(const struct user *user, const char *allocation_id);
