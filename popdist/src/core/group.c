#include "popdist/src/core/group.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "popdist/src/core/fail.h"
#include "popdist/src/core/alloc.h"

static int compare(const void *one, const void *other)
{
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;

    return a < b ? -1 : a > b;
}

static enum popdist_status check_distinct(const struct group *group, struct popdist_error *error)
{
    for (uint32_t rank = 1; rank < group->count; rank++)
        if (group->members[rank] == group->members[rank - 1])
            return fail(error, POPDIST_INVALID, "communicator \"%.80s\" names instance %" PRIu32 " twice",
                        group->id, group->members[rank]);
    return POPDIST_OK;
}

enum popdist_status group_new(const char *id, const uint32_t *participants, size_t count,
                              uint32_t self_instance, struct group **ret, struct popdist_error *error)
{
    size_t id_size = strlen(id) + 1;
    struct group *group = popdist_alloc(1, sizeof *group + count * sizeof *group->members + id_size);
    enum popdist_status status;

    if (!group)
        return fail_memory(error);
    group->id = (char *)(group->members + count);
    memcpy(group->id, id, id_size);
    group->count = (uint32_t)count;
    for (uint32_t rank = 0; rank < count; rank++)
        group->members[rank] = participants ? participants[rank] : rank;
    qsort(group->members, count, sizeof *group->members, compare);
    status = check_distinct(group, error);
    if (status) {
        group_free(group);
        return status;
    }
    group->self = group_rank(group, self_instance);
    *ret = group;
    return POPDIST_OK;
}

void group_free(struct group *group)
{
    popdist_free(group);
}

uint32_t group_rank(const struct group *group, uint32_t instance)
{
    const uint32_t *found = bsearch(&instance, group->members, group->count, sizeof *group->members, compare);

    return found ? (uint32_t)(found - group->members) : GROUP_NOBODY;
}

uint64_t group_hash(const struct group *group)
{
    uint64_t hash = 0xcbf29ce484222325U;

    for (uint32_t rank = 0; rank < group->count; rank++)
        hash = (hash ^ group->members[rank]) * 0x100000001b3U;
    return hash;
}
