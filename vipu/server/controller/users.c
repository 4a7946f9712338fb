#include "vipu/server/controller/users.h"

#include "base/core/mem.h"

void users_release(struct users *users)
{
    for (size_t i = 0; i < users->count; i++) {
        struct user *user = &users->items[i];

        mem_free(user->id);
        mem_free_secret(user->key.plain);
        mem_free(user->key.file);
        mem_free(user->key.hash);
        strv_release(&user->allocations);
    }
    mem_free(users->items);
    *users = (struct users){0};
}

const struct user *users_find(const struct users *users, const char *id)
{
    for (size_t i = 0; i < users->count; i++)
        if (str_eq(users->items[i].id, id))
            return &users->items[i];
    return NULL;
}

bool user_may(const struct user *user, const char *allocation_id)
{
    return !user || strv_has(&user->allocations, allocation_id);
}

bool user_may_use(const struct user *user, const struct vipu_partition *partition)
{
    return user && user->partition ? str_eq(user->partition, partition->id)
                                   : user_may(user, partition->allocation_id);
}
