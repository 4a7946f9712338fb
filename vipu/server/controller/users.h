/* Who may use what: the users of secure mode and the allocations each was given. Plain data, pure; keys are
 * compared in keys.h. Owned contents. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/str.h"

/* Where a user's access key stands, as the configuration has it; exactly one is not NULL. */
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
const struct user *users_find(const struct users *users, const char *id); /* NULL: there is none */
/* NULL is everybody where secure mode is off: may use all. */
bool user_may(const struct user *user, const char *allocation_id);
